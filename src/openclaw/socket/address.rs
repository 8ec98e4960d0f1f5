//! Where a gateway listens, and the token that opens it.
//!
//! Always holds: a token is shown nowhere, and goes in plain only to this host; it is read anew for
//! each connection, so that a changed one needs no restart.

use serde_json::Value;
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use tokio_tungstenite::tungstenite::http::Uri;

/// The variable with the token of the gateway (`facts/gateway.md` §1).
pub const TOKEN_VARIABLE: &str = "OPENCLAW_GATEWAY_TOKEN";

/// Where a gateway's WebSocket is: `wss://…`, or `ws://` and this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayUrl(String);

impl GatewayUrl {
    /// Takes a URL; `None` where it is none of a WebSocket, holds a secret, or leads over a network
    /// without TLS.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let uri: Uri = text.trim().parse().ok()?;
        let host = uri.host().filter(|host| !host.is_empty())?;
        let is_open = uri.authority().is_some_and(|authority| !authority.as_str().contains('@'));
        let is_safe = match uri.scheme_str()? {
            "wss" => true,
            "ws" => is_this_host(host),
            _ => false,
        };
        (is_open && is_safe).then(|| Self(text.trim().to_owned()))
    }

    /// A gateway on this host.
    #[must_use]
    pub fn local(port: u16) -> Self {
        Self(format!("ws://127.0.0.1:{port}"))
    }

    /// As it is written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for GatewayUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_this_host(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// What opens a gateway.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// A token as it stands somewhere; `None` where nothing stands there.
    #[must_use]
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The token itself, for the frame that it is sent in.
    pub(super) fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// How a gateway is reached.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// Where it is, where it does not say so itself in its state folder.
    pub url: Option<GatewayUrl>,
    /// A file that holds the token, before all else.
    pub token_file: Option<PathBuf>,
    /// The token of the environment.
    pub token: Option<Token>,
    /// OpenClaw's own configuration, which holds the token else.
    pub config: PathBuf,
}

/// Where to connect, and with what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// Where.
    pub url: GatewayUrl,
    /// With what.
    pub token: Token,
}

impl Access {
    /// The address of a gateway that says that it listens on `port` of this host; the error says
    /// what is missing.
    pub fn address(&self, port: Option<u16>) -> Result<Address, String> {
        let url = match (&self.url, port) {
            (Some(url), _) => url.clone(),
            (None, Some(port)) => GatewayUrl::local(port),
            (None, None) => return Err("no gateway says that it listens here".to_owned()),
        };
        Ok(Address { url, token: self.find_token()? })
    }

    fn find_token(&self) -> Result<Token, String> {
        if let Some(path) = &self.token_file {
            let text = fs_err::read_to_string(path).map_err(|error| error.to_string())?;
            return Token::new(&text).ok_or_else(|| format!("{} is empty", path.display()));
        }
        if let Some(token) = &self.token {
            return Ok(token.clone());
        }
        self.configured_token()
    }

    fn configured_token(&self) -> Result<Token, String> {
        let path = &self.config;
        let none = |why: &str| {
            format!(
                "{} {why}: give the gateway's token in ${TOKEN_VARIABLE}, or the file that holds it \
                 as gateway_token_file",
                path.display()
            )
        };
        let text = fs_err::read_to_string(path).map_err(|_| none("cannot be read"))?;
        let config: Value = json5::from_str(&text).map_err(|_| none("is no JSON5"))?;
        match config.pointer("/gateway/auth/token").and_then(Value::as_str) {
            // OpenClaw puts a variable of its own there, which need not be one of ours.
            Some(token) if token.trim_start().starts_with("${") => {
                Err(none("names a variable for gateway.auth.token"))
            }
            token => token.and_then(Token::new).ok_or_else(|| none("holds no gateway.auth.token")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn a_url_is_taken_where_nobody_on_the_way_can_read_the_token() {
        for (text, is_taken) in [
            ("ws://127.0.0.1:18789", true),
            ("ws://[::1]:18789/path", true),
            (" ws://localhost:1 ", true),
            ("wss://gateway.example:443", true),
            ("ws://gateway.example:18789", false),
            ("ws://10.0.0.1", false),
            ("ws://127.0.0.1.example", false),
            ("wss://me:secret@gateway.example", false),
            ("http://127.0.0.1", false),
            ("127.0.0.1:18789", false),
            ("ws://", false),
            ("", false),
        ] {
            assert_eq!(GatewayUrl::parse(text).is_some(), is_taken, "{text}");
        }
    }

    #[test]
    fn the_token_is_the_first_that_is_there_and_what_is_missing_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let config = folder.path().join("openclaw.json");
        let file = folder.path().join("token");
        let access = |token: Option<&str>, token_file: Option<&Path>| Access {
            url: None,
            token_file: token_file.map(Path::to_owned),
            token: token.and_then(Token::new),
            config: config.clone(),
        };
        let found = |access: Access| access.address(Some(1)).map(|found| found.token);
        let is = |text: &str| Ok(Token::new(text).unwrap());

        let said = found(access(None, None)).unwrap_err();
        assert!(said.contains("openclaw.json") && said.contains("gateway_token_file"), "{said}");
        fs_err::write(&config, "{gateway: {auth: {mode: 'token', token: 'written'}}, // why\n}")
            .unwrap();
        assert_eq!(found(access(None, None)), is("written"));
        for text in [
            "{",
            "{}",
            r#"{"gateway":{"auth":{"token":"${SOME_TOKEN}"}}}"#,
            r#"{"gateway":{"auth":{"token":{"source":"exec"}}}}"#,
        ] {
            fs_err::write(&config, text).unwrap();
            assert!(found(access(None, None)).is_err(), "{text}");
        }
        assert_eq!(found(access(Some("set"), None)), is("set"));
        assert!(found(access(Some("set"), Some(&file))).unwrap_err().contains("token"));
        fs_err::write(&file, " \n").unwrap();
        assert!(found(access(Some("set"), Some(&file))).unwrap_err().contains("empty"));
        fs_err::write(&file, "filed\n").unwrap();
        assert_eq!(found(access(Some("set"), Some(&file))), is("filed"));
    }

    #[test]
    fn a_token_is_never_shown() {
        let url = GatewayUrl::local(1);
        let address = Address { url, token: Token::new("secret").unwrap() };
        assert!(!format!("{address:?}").contains("secret"));
    }

    #[test]
    fn a_url_goes_before_the_port_of_this_host() {
        let mut access = Access {
            url: None,
            token_file: None,
            token: Token::new("t"),
            config: PathBuf::from("/none"),
        };
        assert_eq!(access.address(Some(7)).unwrap().url.as_str(), "ws://127.0.0.1:7");
        assert!(access.address(None).is_err());
        access.url = GatewayUrl::parse("wss://gateway.example");
        assert_eq!(access.address(None).unwrap().url.as_str(), "wss://gateway.example");
    }
}
