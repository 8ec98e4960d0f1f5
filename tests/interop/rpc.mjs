// One call to a gateway: node rpc.mjs URL TOKEN METHOD PARAMS; prints the payload as JSON.
const [url, token, method, params] = process.argv.slice(2);
const socket = new WebSocket(url);

const fail = (why) => {
  console.error(typeof why === "string" ? why : JSON.stringify(why));
  process.exit(1);
};
const send = (id, method, params) => socket.send(JSON.stringify({ type: "req", id, method, params }));

socket.onerror = () => fail("the gateway does not answer");
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  if (frame.type === "event" && frame.event === "connect.challenge") {
    send("connect", "connect", {
      minProtocol: 4,
      maxProtocol: 4,
      client: { id: "gateway-client", version: "0.0.0", platform: "linux", mode: "backend" },
      role: "operator",
      scopes: ["operator.read", "operator.write", "operator.pairing", "operator.admin"],
      caps: [],
      auth: { token },
    });
  } else if (frame.type === "res" && !frame.ok) {
    fail(frame.error);
  } else if (frame.type === "res" && frame.id === "connect") {
    send("call", method, JSON.parse(params));
  } else if (frame.type === "res" && frame.id === "call") {
    console.log(JSON.stringify(frame.payload));
    socket.close();
  }
};
