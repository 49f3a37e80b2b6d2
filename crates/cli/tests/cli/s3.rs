//! An S3 server in this process: `s3s-fs` on a folder, with faults.
//!
//! 1. The files of the folder are the objects.
//! 2. A request may be held, before or after it takes effect, until the test has killed its sender. It has no reply.
//! 3. While the server is away, it answers 503.
//! 4. `s3s-fs` decides whether an object exists before it writes it. Here requests with a condition run one after
//!    another, as if that were one step.

use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use s3s::auth::SimpleAuth;
use s3s::service::{S3Service, S3ServiceBuilder};
use s3s::{Body, HttpError, HttpRequest, HttpResponse};
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;

const KEY: &str = "key-of-a-test";
pub const SECRET: &str = "secret-of-a-test";
const CONDITION: &str = "if-none-match";
/// Bytes of the longest request.
const BODY_MAX: usize = 1 << 30;

/// A fault of a request.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// It has no effect.
    Lost,
    /// It takes effect before its sender is killed.
    Unanswered,
    /// It takes effect after its sender is killed.
    Late,
}

/// A running server. The address of the backup in it is `s3://bucket/db`.
pub struct S3 {
    address: SocketAddr,
    objects: PathBuf,
    plan: Arc<Plan>,
    _runtime: Runtime,
}

/// Faults of requests.
#[derive(Default)]
struct Plan {
    /// Number of requests before the one that is held, and its fault.
    hold: Mutex<Option<(u64, Fault)>>,
    /// Number of requests that were held.
    held: AtomicU64,
    let_go: Notify,
    is_away: AtomicBool,
    /// Whether conditions are ignored.
    is_careless: AtomicBool,
    conditions: tokio::sync::Mutex<()>,
}

impl S3 {
    /// Starts a server on a folder.
    pub fn start(dir: &Path) -> Self {
        let objects = dir.join("bucket");
        fs::create_dir_all(&objects).unwrap();
        let mut builder = S3ServiceBuilder::new(s3s_fs::FileSystem::new(dir).unwrap());
        builder.set_auth(SimpleAuth::from_single(KEY, SECRET));
        let service = builder.build();
        let runtime = Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
        let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).unwrap();
        let address = listener.local_addr().unwrap();
        let plan = Arc::<Plan>::default();
        let served = Served { service, plan: plan.clone(), dir: dir.to_owned() };
        runtime.spawn(async move {
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let served = served.clone();
                let answer = service_fn(move |request| served.clone().answer(request));
                tokio::spawn(http1::Builder::new().serve_connection(TokioIo::new(stream), answer));
            }
        });
        S3 { address, objects, plan, _runtime: runtime }
    }

    /// Adds the credentials of the server to a command's environment.
    pub fn reached_by(&self, command: Command) -> Command {
        reached_at(&self.address.to_string(), command)
    }

    /// Returns the files of the objects of a kind, such as `log`, in their order.
    pub fn objects(&self, kind: &str) -> Vec<PathBuf> {
        let lineages = fs::read_dir(self.objects.join("db")).unwrap();
        let folders = lineages.map(|lineage| lineage.unwrap().path().join(kind));
        let files = folders.filter_map(|folder| fs::read_dir(folder).ok()).flatten();
        let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Holds the request after `requests` others.
    pub fn hold(&self, requests: u64, fault: Fault) {
        self.plan.held.store(0, SeqCst);
        *self.plan.hold.lock().unwrap() = Some((requests, fault));
    }

    /// Whether the request is held.
    pub fn is_holding(&self) -> bool {
        self.plan.held.load(SeqCst) > 0
    }

    /// Lets a late request take effect.
    pub fn let_go(&self) {
        self.plan.let_go.notify_waiters();
    }

    /// Answers 503 from now on, or no longer.
    pub fn set_away(&self, is_away: bool) {
        self.plan.is_away.store(is_away, SeqCst);
    }

    /// Ignores conditions from now on.
    pub fn be_careless(&self) {
        self.plan.is_careless.store(true, SeqCst);
    }
}

/// Adds the address of a server, and the credentials, to a command's environment.
pub fn reached_at(address: &str, mut command: Command) -> Command {
    command.env("AWS_ENDPOINT", format!("http://{address}"));
    command.env("AWS_ALLOW_HTTP", "true").env("AWS_REGION", "us-east-1");
    command.env("AWS_ACCESS_KEY_ID", KEY).env("AWS_SECRET_ACCESS_KEY", SECRET);
    command
}

#[derive(Clone)]
struct Served {
    service: S3Service,
    plan: Arc<Plan>,
    dir: PathBuf,
}

impl Served {
    async fn answer(self, request: Request<Incoming>) -> Result<HttpResponse, HttpError> {
        let (head, body) = request.into_parts();
        // A request that is held outlives its connection.
        let body = Body::from(body).store_all_limited(BODY_MAX).await.map_err(HttpError::new)?;
        let request = Request::from_parts(head, Body::from(body));
        if self.plan.is_away.load(SeqCst) {
            let mut reply = HttpResponse::new(Body::empty());
            *reply.status_mut() = hyper::StatusCode::SERVICE_UNAVAILABLE;
            return Ok(reply);
        }
        let Some(fault) = self.plan.next() else { return self.run(request).await };
        let plan = self.plan.clone();
        match fault {
            Fault::Lost => {}
            Fault::Unanswered => drop(self.run(request).await),
            Fault::Late => {
                let let_go = plan.clone();
                tokio::spawn(async move {
                    let let_go = let_go.let_go.notified();
                    self.plan.held.fetch_add(1, SeqCst);
                    let_go.await;
                    self.run(request).await
                });
                return std::future::pending().await;
            }
        }
        plan.held.fetch_add(1, SeqCst);
        std::future::pending().await
    }

    async fn run(&self, request: HttpRequest) -> Result<HttpResponse, HttpError> {
        if !request.headers().contains_key(CONDITION) {
            return self.service.call(request).await;
        }
        let _alone = self.plan.conditions.lock().await;
        if self.plan.is_careless.load(SeqCst) {
            let _ = fs::remove_file(self.dir.join(request.uri().path().trim_start_matches('/')));
        }
        self.service.call(request).await
    }
}

impl Plan {
    /// Counts a request; returns its fault if it is the one that is held.
    fn next(&self) -> Option<Fault> {
        let mut hold = self.hold.lock().unwrap();
        match *hold {
            Some((0, fault)) => {
                *hold = None;
                Some(fault)
            }
            Some((requests, fault)) => {
                *hold = Some((requests - 1, fault));
                None
            }
            None => None,
        }
    }
}
