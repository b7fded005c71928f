//! Delivers OpenMetrics text: to clients at an address, or into a file at each interval.

use super::openmetrics::Exporter;
use crate::stop::sleep;
use anyhow::{Context, Result};
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use turnwise_present::output_file::OutputFile;

/// The destination.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Address(SocketAddr),
    File(PathBuf),
}

impl FromStr for Place {
    type Err = String;

    fn from_str(text: &str) -> Result<Place, String> {
        let local = text.strip_prefix("localhost:").or_else(|| text.strip_prefix(':')).unwrap_or(text);
        if let Ok(port) = local.parse::<u16>() {
            return Ok(Place::Address((Ipv4Addr::LOCALHOST, port).into()));
        }
        match text.parse() {
            Ok(address) => Ok(Place::Address(address)),
            Err(_) if text.is_empty() => Err("expected ADDRESS:PORT, PORT or a file".to_owned()),
            Err(_) => Ok(Place::File(text.into())),
        }
    }
}

/// The limits of a request; a longer or larger one gets no answer: no other client is served meanwhile.
const PATIENCE: Duration = Duration::from_secs(2);
const REQUEST_BYTES: usize = 8 * 1024;
/// The interval of checks for requests, or for a request to stop.
const STEP: Duration = Duration::from_millis(20);

const TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Writes the file at each interval until the programs end; once, if `once`.
pub(super) fn write(
    mut exporter: Exporter,
    file: &Path,
    interval: Duration,
    once: bool,
    stop: &AtomicBool,
) -> Result<()> {
    loop {
        let (text, is_alive) = exporter.text()?;
        OutputFile::open("--openmetrics", file)?.write(text.as_bytes())?;
        if once || !is_alive || !sleep(interval, stop) {
            return Ok(());
        }
    }
}

/// Answers requests until it is stopped; the last state of programs that have ended can still be read.
pub(super) fn serve(mut exporter: Exporter, address: SocketAddr, stop: &AtomicBool) -> Result<()> {
    let listener = TcpListener::bind(address).with_context(|| format!("cannot listen at --openmetrics={address}"))?;
    listener.set_nonblocking(true)?;
    eprintln!("turnwise: metrics are at http://{}/metrics; Ctrl-C ends", listener.local_addr()?);
    loop {
        match listener.accept() {
            // A client that disconnects does not affect others.
            Ok((stream, _)) => drop(answer(stream, &mut exporter)),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                if !sleep(STEP, stop) {
                    return Ok(());
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted || error.kind() == ErrorKind::ConnectionAborted => {}
            Err(error) => return Err(error).context("cannot accept connections"),
        }
    }
}

fn answer(mut stream: TcpStream, exporter: &mut Exporter) -> Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let request = request(&mut stream)?;
    let answer = response(&request, || Ok(exporter.text()?.0));
    stream.write_all(answer.as_bytes())?;
    Ok(())
}

/// Reads the head of a request.
fn request(stream: &mut TcpStream) -> std::io::Result<Vec<u8>> {
    let end = Instant::now() + PATIENCE;
    let mut request = Vec::new();
    let mut part = [0; 1024];
    while !request.windows(4).any(|end| end == b"\r\n\r\n") && request.len() < REQUEST_BYTES {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(ErrorKind::TimedOut.into());
        }
        stream.set_read_timeout(Some(left))?;
        match stream.read(&mut part)? {
            0 => break,
            bytes => request.extend_from_slice(&part[..bytes]),
        }
    }
    Ok(request)
}

fn response(request: &[u8], text: impl FnOnce() -> Result<String>) -> String {
    let line = String::from_utf8_lossy(request.split(|byte| *byte == b'\r').next().unwrap_or_default()).into_owned();
    let mut words = line.split(' ');
    let (method, path, version) = (words.next(), words.next(), words.next());
    let plain = "text/plain; charset=utf-8";
    let (status, kind, body) = match (method, path.map(|path| path.split('?').next().unwrap_or_default())) {
        _ if !version.is_some_and(|version| version.starts_with("HTTP/1.")) => {
            ("400 Bad Request", plain, "this is no HTTP/1 request\n".to_owned())
        }
        (Some("GET" | "HEAD"), Some("/" | "/metrics")) => match text() {
            Ok(text) => ("200 OK", TYPE, text),
            Err(error) => ("503 Service Unavailable", plain, format!("{error:#}\n")),
        },
        (Some("GET" | "HEAD"), _) => ("404 Not Found", plain, "the metrics are at /metrics\n".to_owned()),
        _ => ("405 Method Not Allowed", plain, "only GET and HEAD\n".to_owned()),
    };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    if method == Some("HEAD") { head } else { head + &body }
}

#[cfg(test)]
mod tests {
    use super::super::openmetrics::tests::{made_up, parsed};
    use super::*;

    #[test]
    fn places_are_addresses_of_this_machine_by_default_or_files() {
        let local = |port| Place::Address((Ipv4Addr::LOCALHOST, port).into());
        for text in ["9464", ":9464", "localhost:9464", "127.0.0.1:9464"] {
            assert_eq!(text.parse(), Ok(local(9464)), "{text}");
        }
        assert_eq!("[::1]:80".parse(), Ok(Place::Address("[::1]:80".parse().unwrap())));
        assert_eq!("/var/lib/locks.prom".parse(), Ok(Place::File("/var/lib/locks.prom".into())));
        assert!("".parse::<Place>().is_err());
    }

    fn status(request: &str) -> String {
        response(request.as_bytes(), || Ok("text".to_owned())).lines().next().unwrap_or_default().to_owned()
    }

    #[test]
    fn only_requests_for_the_metrics_get_them() {
        assert_eq!(status("GET /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(status("GET /?x=1 HTTP/1.0\r\n\r\n"), "HTTP/1.1 200 OK");
        assert_eq!(status("GET /other HTTP/1.1\r\n\r\n"), "HTTP/1.1 404 Not Found");
        assert_eq!(status("POST /metrics HTTP/1.1\r\n\r\n"), "HTTP/1.1 405 Method Not Allowed");
        for wrong in ["", "GET /metrics\r\n", "\r\n\r\n", "GET", "\u{16}\u{3}\u{1}"] {
            assert_eq!(status(wrong), "HTTP/1.1 400 Bad Request", "{wrong:?}");
        }
        let failed = response(b"GET / HTTP/1.1\r\n\r\n", || anyhow::bail!("no program"));
        assert!(failed.starts_with("HTTP/1.1 503") && failed.ends_with("no program\n"), "{failed}");
    }

    #[test]
    fn an_answer_is_as_long_as_it_says() {
        let text = made_up();
        let answer = response(b"GET /metrics HTTP/1.1\r\n\r\n", || Ok(text.clone()));
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("Content-Length: {}", text.len())) && body == text, "{head}");
        let head_only = response(b"HEAD /metrics HTTP/1.1\r\n\r\n", || Ok(text.clone()));
        assert_eq!(head_only.trim_end(), head);
        assert!(parsed(body).is_none_or(|samples| samples.len() > 20));
    }

    #[test]
    fn a_request_may_come_in_parts_and_must_end() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        client.write_all(b"GET / HT").unwrap();
        let writer = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(30));
            client.write_all(b"TP/1.1\r\n\r\n").unwrap();
            client
        });
        assert_eq!(request(&mut server).unwrap(), b"GET / HTTP/1.1\r\n\r\n");
        let mut client = writer.join().unwrap();
        client.write_all(&[b'x'; 3 * REQUEST_BYTES]).unwrap();
        assert!(request(&mut server).unwrap().len() < REQUEST_BYTES + 1024, "it is not read to its end");
        let silent = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        assert!(request(&mut server).is_err(), "a client that says nothing is left after a while");
        drop(silent);
    }
}
