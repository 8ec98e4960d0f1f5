// How long a call takes: node latency.mjs URL TOKEN MS METHOD PARAMS; one call after the other for so
// many milliseconds; prints their times in ms as a JSON list.
const [url, token, ms, method, params] = process.argv.slice(2);
const socket = new WebSocket(url);
const times = [];
let began = 0;
let end = 0;

const fail = (why) => {
  console.error(typeof why === "string" ? why : JSON.stringify(why));
  process.exit(1);
};
const send = (id, method, params) => socket.send(JSON.stringify({ type: "req", id, method, params }));
const call = () => {
  began = performance.now();
  send(`call-${times.length}`, method, JSON.parse(params));
};

socket.onerror = () => fail("the gateway does not answer");
socket.onmessage = ({ data }) => {
  const frame = JSON.parse(data);
  if (frame.type === "event" && frame.event === "connect.challenge") {
    send("connect", "connect", {
      minProtocol: 4,
      maxProtocol: 4,
      client: { id: "gateway-client", version: "0.0.0", platform: "linux", mode: "backend" },
      role: "operator",
      scopes: ["operator.read"],
      caps: [],
      auth: { token },
    });
  } else if (frame.type === "res" && !frame.ok) {
    fail(frame.error);
  } else if (frame.type === "res" && frame.id === "connect") {
    end = performance.now() + Number(ms);
    call();
  } else if (frame.type === "res") {
    const now = performance.now();
    times.push(now - began);
    if (now < end) return call();
    console.log(JSON.stringify(times));
    socket.close();
  }
};
