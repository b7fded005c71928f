//! A headless Chromium, driven through its debugging pipe: commands go to descriptor 3 and answers come from 4, as JSON
//! with a zero byte after each. Clicks and keys made this way are the browser's own, like a user's.

use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

/// The names on Debian, on Ubuntu and others, and from Google.
const NAMES: &[&str] = &["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];
const PATIENCE: Duration = Duration::from_secs(60);
/// The flags that keep it from accessing the network, and let root run it.
const FLAGS: &str = "--headless --no-sandbox --disable-gpu --disable-quic --no-first-run --disable-extensions \
                     --disable-background-networking --disable-component-update --disable-sync \
                     --disable-dev-shm-usage --window-size=1200,900 --remote-debugging-pipe";

pub(crate) struct Browser {
    process: Child,
    commands: ChildStdin,
    answers: Receiver<Value>,
    last: u64,
    session: Option<String>,
    /// The errors of the page.
    pub(crate) complaints: Vec<String>,
    profile: tempfile::TempDir,
}

impl Browser {
    /// Returns the name of an installed browser, if any.
    pub(crate) fn find() -> Option<&'static str> {
        let runs = |name: &&&str| {
            let status = Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
            status.is_ok_and(|status| status.success())
        };
        NAMES.iter().find(runs).copied()
    }

    /// Shows a file.
    pub(crate) fn open(name: &str, page: &Path) -> Browser {
        let profile = tempfile::tempdir().expect("a directory");
        let script = format!("exec 3<&0 4>&1 </dev/null >/dev/null; exec {name} {FLAGS} --user-data-dir=\"$0\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(profile.path()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = command.stderr(Stdio::null()).spawn().expect("sh starts");
        let commands = process.stdin.take().expect("it is piped");
        let output = process.stdout.take().expect("it is piped");
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for message in BufReader::new(output).split(0).map_while(Result::ok) {
                let Ok(message) = serde_json::from_slice(&message) else { break };
                if sender.send(message).is_err() {
                    break;
                }
            }
        });
        let (last, session, complaints) = (0, None, Vec::new());
        let mut browser = Browser { process, commands, answers, last, session, complaints, profile };
        browser.attach(page);
        browser
    }

    fn attach(&mut self, page: &Path) {
        let target = self.ask("Target.createTarget", json!({"url": "about:blank"}))["targetId"].clone();
        let session = self.ask("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        self.session = Some(session["sessionId"].as_str().expect("a session").to_owned());
        for domain in ["Page.enable", "Runtime.enable", "Log.enable"] {
            self.ask(domain, json!({}));
        }
        self.ask("Page.navigate", json!({"url": format!("file://{}", page.display())}));
        let loaded = "location.protocol === 'file:' && document.readyState === 'complete'";
        self.until(loaded);
    }

    /// Sends a command and waits for its answer.
    pub(crate) fn ask(&mut self, method: &str, parameters: Value) -> Value {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = json!(session);
        }
        let message = command.to_string() + "\0";
        self.commands.write_all(message.as_bytes()).expect("the browser takes commands");
        loop {
            let answer = self.answers.recv_timeout(PATIENCE).expect("the browser answers");
            if answer["id"] == self.last {
                assert!(answer["error"].is_null(), "{method}: {}", answer["error"]);
                return answer["result"].clone();
            }
            if answer["method"] == "Runtime.exceptionThrown" || answer["method"] == "Log.entryAdded" {
                self.complaints.push(answer["params"].to_string());
            }
        }
    }

    /// Returns the value of an expression in the page.
    #[track_caller]
    pub(crate) fn value(&mut self, expression: &str) -> Value {
        let result = self.evaluate(expression);
        assert!(result["exceptionDetails"].is_null(), "{expression}: {result}");
        result["result"]["value"].clone()
    }

    fn evaluate(&mut self, expression: &str) -> Value {
        self.ask("Runtime.evaluate", json!({"expression": expression, "returnByValue": true}))
    }

    /// Waits until an expression is true. While the page draws itself, an element may be missing, and the expression
    /// throws.
    pub(crate) fn until(&mut self, expression: &str) {
        let start = std::time::Instant::now();
        loop {
            let result = self.evaluate(expression);
            if result["result"]["value"] == json!(true) {
                return;
            }
            assert!(start.elapsed() < PATIENCE, "never: {expression}: {result}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Returns the middle of an element, scrolled into view.
    fn place(&mut self, element: &str) -> (f64, f64) {
        let place = self.value(&format!(
            "(() => {{ const e = {element}; e.scrollIntoView({{block: 'center', behavior: 'instant'}}); \
             const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()"
        ));
        (place[0].as_f64().expect("x"), place[1].as_f64().expect("y"))
    }

    fn mouse(&mut self, kind: &str, (x, y): (f64, f64)) {
        let event = json!({"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1});
        self.ask("Input.dispatchMouseEvent", event);
    }

    /// Clicks on an element, wherever it is on the page.
    pub(crate) fn click(&mut self, element: &str) {
        let place = self.place(element);
        for kind in ["mousePressed", "mouseReleased"] {
            self.mouse(kind, place);
        }
    }

    /// Moves the pointer to `dx` pixels off the middle of an element.
    pub(crate) fn point(&mut self, element: &str, dx: f64) {
        let (x, y) = self.place(element);
        let event = json!({"type": "mouseMoved", "x": x + dx, "y": y});
        self.ask("Input.dispatchMouseEvent", event);
    }

    /// Presses a key (`ArrowRight`, `Tab`, ` `).
    pub(crate) fn key(&mut self, key: &str) {
        let code = match key {
            "Tab" => 9,
            "Escape" => 27,
            " " => 32,
            "End" => 35,
            "Home" => 36,
            "ArrowLeft" => 37,
            "ArrowRight" => 39,
            _ => panic!("no code for {key:?}"),
        };
        let text = if key == " " { " " } else { "" };
        for kind in ["keyDown", "keyUp"] {
            let text = if kind == "keyDown" { text } else { "" };
            let event = json!({"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": code});
            self.ask("Input.dispatchKeyEvent", event);
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
        // The processes that it started write there until they notice.
        let begun = std::time::Instant::now();
        while std::fs::remove_dir_all(self.profile.path()).is_err() && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}
