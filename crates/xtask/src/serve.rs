//! A small server of static files on localhost.
//!
//! 1. One thread a connection, one request a connection.
//! 2. What a path leads to, after decoding it and following `..` and links, must lie in the served
//!    folder.
//! 3. Nothing may be cached: the next build must show.

use anyhow::{Context, Result};
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

/// Longest request head, in bytes.
const HEAD_LIMIT: u64 = 16 << 10;
/// Longest wait for a silent peer: browsers open connections that they may not use.
const PATIENCE: Duration = Duration::from_secs(30);

/// Serves the files below `root` until the process ends.
///
/// # Errors
/// When `root` is not there.
pub fn forever(listener: &TcpListener, root: &Path) -> Result<()> {
    let root = root.canonicalize().with_context(|| format!("{} is not there", root.display()))?;
    for stream in listener.incoming().flatten() {
        let root = root.clone();
        // A connection that breaks is the browser's affair.
        thread::spawn(move || answer(&stream, &root).ok());
    }
    Ok(())
}

fn answer(stream: &TcpStream, root: &Path) -> Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let mut head = BufReader::new(stream.take(HEAD_LIMIT));
    let mut request = String::new();
    head.read_line(&mut request)?;
    // The rest of the head must be read, or closing would reset the connection.
    let mut line = String::new();
    while head.read_line(&mut line)? > 0 && line.trim_end() != "" {
        line.clear();
    }
    let mut words = request.split(' ');
    let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let (status, kind, body) = match (method, locate(root, target)) {
        ("GET" | "HEAD", Some(path)) => match fs::read(&path) {
            Ok(body) => ("200 OK", content_type(&path), body),
            Err(_) => ("404 Not Found", "text/plain", b"not found\n".to_vec()),
        },
        ("GET" | "HEAD", None) => ("404 Not Found", "text/plain", b"not found\n".to_vec()),
        _ => ("405 Method Not Allowed", "text/plain", b"only GET and HEAD\n".to_vec()),
    };
    let mut stream = stream;
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\n\
         Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n",
        body.len()
    )?;
    if method != "HEAD" {
        stream.write_all(&body)?;
    }
    Ok(())
}

/// The file below `root` that a request's target means.
fn locate(root: &Path, target: &str) -> Option<PathBuf> {
    let path = target.split(['?', '#']).next()?.strip_prefix('/')?;
    let mut found = root.join(decode(path)?).canonicalize().ok()?;
    if found.is_dir() {
        found = found.join("index.html").canonicalize().ok()?;
    }
    found.starts_with(root).then_some(found)
}

/// Undoes percent-encoding.
fn decode(path: &str) -> Option<String> {
    let mut bytes = path.bytes();
    let mut decoded = Vec::with_capacity(path.len());
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'%' => {
                let pair = [bytes.next()?, bytes.next()?];
                u8::from_str_radix(std::str::from_utf8(&pair).ok()?, 16).ok()?
            }
            byte => byte,
        });
    }
    String::from_utf8(decoded).ok()
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js" | "mjs") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("json" | "map") => "application/json",
        Some("wasm") => "application/wasm",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("woff2") => "font/woff2",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::forever;
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::thread;

    /// A server over a folder with a file beside it that must stay out of reach.
    fn serve() -> (tempfile::TempDir, SocketAddr) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("site");
        fs::create_dir_all(root.join("assets")).unwrap();
        fs::write(folder.path().join("secret"), "secret").unwrap();
        fs::write(root.join("index.html"), "<p>home").unwrap();
        fs::write(root.join("assets/a b.wasm"), b"\0asm").unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("../secret", root.join("link")).unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || forever(&listener, &root));
        (folder, address)
    }

    fn request(address: SocketAddr, line: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "{line} HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).unwrap();
        String::from_utf8_lossy(&answer).into_owned()
    }

    #[test]
    fn files_come_with_their_type_and_are_never_cached() {
        let (_folder, address) = serve();
        let home = request(address, "GET /?q=1");
        assert!(home.starts_with("HTTP/1.1 200") && home.ends_with("\r\n\r\n<p>home"), "{home}");
        assert!(home.contains("Cache-Control: no-store"), "{home}");
        let module = request(address, "GET /assets/a%20b.wasm");
        assert!(module.contains("Content-Type: application/wasm\r\n"), "{module}");
        let head = request(address, "HEAD /");
        assert!(head.contains("Content-Length: 7\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }

    #[test]
    fn nothing_outside_the_folder_is_served() {
        let (_folder, address) = serve();
        for path in
            ["/../secret", "/assets/../../secret", "/%2e%2e/secret", "/..%2fsecret", "/link"]
        {
            let answer = request(address, &format!("GET {path}"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
        }
        for path in ["//etc/passwd", "/%2fetc%2fpasswd", "/%00", "/%zz", "/%", "nothing"] {
            let answer = request(address, &format!("GET {path}"));
            assert!(answer.starts_with("HTTP/1.1 404"), "{path}: {answer}");
        }
        assert!(request(address, "POST /").starts_with("HTTP/1.1 405"));
    }
}
