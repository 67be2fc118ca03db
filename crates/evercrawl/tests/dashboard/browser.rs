//! Debian's Chromium, driven by its own protocol through pipes.

use serde_json::{Value, json};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// Nothing takes longer on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// A browser with one tab; ends with the test.
pub struct Browser {
    child: Child,
    to: File,
    from: Receiver<Value>,
    session: Option<String>,
    last: u64,
    /// What went wrong in pages: exceptions, what the policy blocked, dialogs.
    pub complaints: Vec<String>,
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Browser {
    /// None where there is no browser.
    pub fn start(directory: &Path) -> Option<Self> {
        if Command::new("chromium").arg("--version").output().is_err() {
            eprintln!("skipped: there is no `chromium` here");
            return None;
        }
        let (ask, reply) = (directory.join("ask"), directory.join("reply"));
        let made = Command::new("mkfifo")
            .args([&ask, &reply])
            .status()
            .unwrap();
        assert!(made.success());
        let mut child = Command::new("sh")
            .args(["-c", "exec chromium \"$@\" 3<\"$ASK\" 4>\"$REPLY\"", "sh"])
            .args([
                "--headless",
                "--no-sandbox",
                "--disable-gpu",
                "--disable-quic",
                "--no-first-run",
            ])
            .args([
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ])
            .args(["--hide-scrollbars", "--remote-debugging-pipe"])
            .arg(format!(
                "--user-data-dir={}",
                directory.join("profile").display()
            ))
            .arg("about:blank")
            .envs([("ASK", &ask), ("REPLY", &reply)])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let to = OpenOptions::new().write(true).open(&ask).unwrap();
        let from = BufReader::new(File::open(&reply).unwrap());
        let (teller, heard) = channel();
        std::thread::spawn(move || {
            for message in from.split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else {
                    continue;
                };
                if teller.send(message).is_err() {
                    return;
                }
            }
        });
        assert!(child.try_wait().unwrap().is_none());
        let mut browser = Self {
            child,
            to,
            from: heard,
            session: None,
            last: 0,
            complaints: Vec::new(),
        };
        let tab = browser.call("Target.createTarget", &json!({"url": "about:blank"}));
        let attach = json!({"targetId": tab["targetId"], "flatten": true});
        let attached = browser.call("Target.attachToTarget", &attach);
        browser.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log"] {
            browser.call(&format!("{domain}.enable"), &json!({}));
        }
        Some(browser)
    }

    fn call(&mut self, method: &str, parameters: &Value) -> Value {
        self.last += 1;
        let mut message = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            message["sessionId"] = json!(session);
        }
        write!(self.to, "{message}\0").unwrap();
        let limit = Instant::now() + PATIENCE;
        loop {
            let left = limit.saturating_duration_since(Instant::now());
            let heard = self.from.recv_timeout(left);
            let heard = heard.unwrap_or_else(|_| panic!("the browser does not answer {method}"));
            if heard["id"] == json!(self.last) {
                assert!(heard["error"].is_null(), "{method}: {}", heard["error"]);
                return heard["result"].clone();
            }
            self.note(&heard);
        }
    }

    fn note(&mut self, heard: &Value) {
        let what = &heard["params"];
        match heard["method"].as_str() {
            Some("Runtime.exceptionThrown") => {
                self.complaints.push(what["exceptionDetails"].to_string());
            }
            Some("Log.entryAdded") if what["entry"]["level"] == "error" => {
                self.complaints.push(what["entry"].to_string());
            }
            Some("Page.javascriptDialogOpening") => self.complaints.push(format!("dialog: {what}")),
            _ => {}
        }
    }

    /// Opens a page and waits until it is there.
    pub fn open(&mut self, url: &str) {
        let gone = self.call("Page.navigate", &json!({"url": url}));
        assert!(gone["errorText"].is_null(), "{url}: {gone}");
        let there = format!(
            "location.href.split('#')[0] === {} && document.readyState === 'complete'",
            json!(url)
        );
        self.wait(&there);
    }

    /// The value of an expression in the page.
    pub fn tell(&mut self, expression: &str) -> Value {
        let ask = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let said = self.call("Runtime.evaluate", &ask);
        assert!(said["exceptionDetails"].is_null(), "{expression}: {said}");
        said["result"]["value"].clone()
    }

    /// Waits until an expression is true, not for ever.
    pub fn wait(&mut self, expression: &str) {
        let limit = Instant::now() + PATIENCE;
        while self.tell(expression) != json!(true) {
            assert!(
                Instant::now() < limit,
                "not within a minute: {expression}\n{}",
                self.tell("document.body.innerText")
            );
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// A screen of this size, by day or by night.
    pub fn screen(&mut self, width: u32, height: u32, dark: bool) {
        let size = json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600});
        self.call("Emulation.setDeviceMetricsOverride", &size);
        let scheme = if dark { "dark" } else { "light" };
        let feature = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        self.call("Emulation.setEmulatedMedia", &feature);
    }

    pub fn without_scripts(&mut self, without: bool) {
        self.call(
            "Emulation.setScriptExecutionDisabled",
            &json!({"value": without}),
        );
    }

    pub fn press(&mut self, key: &str, code: u32) {
        for kind in ["rawKeyDown", "keyUp"] {
            let text = if key.len() == 1 && kind == "rawKeyDown" {
                key
            } else {
                ""
            };
            let kind = if text.is_empty() { kind } else { "keyDown" };
            let event =
                json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.call("Input.dispatchKeyEvent", &event);
        }
    }

    /// Keeps a picture of what is seen, where `EVERCRAWL_PICTURES` names a directory.
    #[allow(dead_code)] // not everybody who has a browser takes pictures
    pub fn picture(&mut self, name: &str) {
        let Some(directory) = std::env::var_os("EVERCRAWL_PICTURES") else {
            return;
        };
        let taken = self.call("Page.captureScreenshot", &json!({"format": "png"}));
        let file = File::create(Path::new(&directory).join(format!("{name}.png"))).unwrap();
        let mut decoder = Command::new("base64");
        let decoder = decoder.arg("-d").stdin(Stdio::piped()).stdout(file);
        let mut decoder = decoder.spawn().unwrap();
        let text = taken["data"].as_str().unwrap();
        decoder
            .stdin
            .take()
            .unwrap()
            .write_all(text.as_bytes())
            .unwrap();
        assert!(decoder.wait().unwrap().success());
    }
}
