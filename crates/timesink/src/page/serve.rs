//! The page for a browser on this machine: on its own address only, and only for who has the token that is in the address printed.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::extract::{Request as HttpRequest, State};
use axum::http::{header, HeaderMap, HeaderName, StatusCode, Uri};
use axum::middleware::{self, Next};
use axum::response::{Html as HtmlBody, IntoResponse, Redirect, Response};
use axum::routing::get;
use axum::Router;
use timesink_page::{Part, Request, Side};
use tokio::sync::oneshot;

use super::answers::{compare, read, Answer, Asked, Recorded, Refusal, ReplayOnce, Told};
use super::file::plain;
use super::html::{escaped, Html, Mode};
use super::sides::Sides;

/// A place to be asked at, and what has to be known to be answered.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    token: String,
    once: String,
    idle: Duration,
}

/// What the page's own scripts send with each question. Cookies would go to whoever listens on another port of this machine.
const HEADER: &str = "timesink-token";

/// Bytes of a token: nobody guesses it.
const TOKEN: usize = 16;

impl Server {
    /// Takes a port of this machine's own address; any that is free if none is given.
    /// It ends when nobody has asked for as long as `idle`.
    pub fn bind(port: Option<u16>, idle: Duration) -> anyhow::Result<Server> {
        let wanted = SocketAddr::from((Ipv4Addr::LOCALHOST, port.unwrap_or(0)));
        let listener = TcpListener::bind(wanted).with_context(|| match port {
            Some(port) => format!(
                "cannot listen on port {port} of 127.0.0.1: choose another with --port, or leave it out"
            ),
            None => "cannot listen on 127.0.0.1".to_owned(),
        })?;
        listener.set_nonblocking(true)?;
        Ok(Server {
            address: listener.local_addr()?,
            listener,
            token: token()?,
            once: token()?,
            idle,
        })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// What a browser is to open.
    pub fn address(&self) -> String {
        format!("http://{}/?token={}", self.address, self.token)
    }

    /// The same for a browser that is started with it: others can see what a program is started with, so it leads there once.
    pub fn address_once(&self) -> String {
        format!("http://{}/?token={}", self.address, self.once)
    }
}

fn token() -> anyhow::Result<String> {
    let mut bytes = [0u8; TOKEN];
    let mut filled = 0;
    while filled < TOKEN {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A question under way.
struct Ask {
    what: What,
    reply: oneshot::Sender<Answer>,
}

enum What {
    Request(Request),
    /// The answer where scripts do not run.
    Plain,
}

/// What handlers know.
struct Desk {
    address: SocketAddr,
    token: String,
    /// The token that leads to the page once; nothing when it has.
    once: Mutex<Option<String>>,
    page: String,
    /// When it was asked last. A page that is open asks every few seconds.
    asked: Mutex<Instant>,
    /// Where data are asked, and where what rules say.
    data: Sender<Ask>,
    told: Sender<Ask>,
}

/// Answers until the process is ended.
pub fn serve(server: Server, sides: &Sides, title: &str, asked: &Asked<'_>) -> anyhow::Result<()> {
    let (data, data_asked) = mpsc::channel();
    let (told, told_asked) = mpsc::channel();
    // Where scripts do not run, the answer is a page of its own.
    let plain = format!(
        "<noscript><meta http-equiv=\"refresh\" content=\"0; url=/plain?token={}\"></noscript>",
        server.token
    );
    let html = Html::of(Mode::Served, title, &plain)?;
    let desk = Arc::new(Desk {
        address: server.address,
        token: server.token,
        once: Mutex::new(Some(server.once)),
        page: html.before + &html.after,
        asked: Mutex::new(Instant::now()),
        data,
        told,
    });
    // The page itself is there before the recording is read.
    let (listener, idle) = (server.listener, server.idle);
    std::thread::spawn(move || listen(listener, desk, idle));
    let queues = Queues {
        data: Mutex::new(data_asked),
        told: Mutex::new(told_asked),
    };
    read(&sides.a, asked, sides.b.is_some(), |a| match &sides.b {
        None => queues.answer(a, None),
        Some(b) => read(b, asked, false, |b| queues.answer(a, Some(b))),
    })
}

/// Questions that wait for an answer.
struct Queues {
    data: Mutex<Receiver<Ask>>,
    told: Mutex<Receiver<Ask>>,
}

fn next(asked: &Mutex<Receiver<Ask>>) -> Option<Ask> {
    asked.lock().ok()?.recv().ok()
}

/// The niceness of what may come later.
const LATER: i32 = 10;

/// Threads that answer what is data: one may be at a large tile while the others go on.
const WORKERS: usize = 2;

impl Queues {
    fn answer(&self, a: &Recorded<'_>, b: Option<&Recorded<'_>>) -> anyhow::Result<()> {
        let work = || {
            while let Some(ask) = next(&self.data) {
                let answer = match &ask.what {
                    What::Request(Request { side, part }) => match (side, b) {
                        (Side::A, _) => a.data(part),
                        (Side::B, Some(b)) => b.data(part),
                        (Side::B, None) => Err(Refusal::Nothing),
                    },
                    What::Plain => Err(Refusal::Nothing),
                };
                // Who went away is not told.
                let _ = ask.reply.send(answer);
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..WORKERS {
                scope.spawn(work);
            }
            // This thread and those that it starts ask the rules, which is long work. The page and its data come first.
            let _ = rustix::process::setpriority_process(None, LATER);
            if let Err(fault) = self.told_of(a, b) {
                self.refuse(&fault);
            }
        });
        Ok(())
    }

    /// Asks the rules of all recordings, and answers.
    fn told_of(&self, a: &Recorded<'_>, b: Option<&Recorded<'_>>) -> anyhow::Result<()> {
        let (replay, other) = (ReplayOnce::new(), ReplayOnce::new());
        let a = Told::of(a, &replay)?;
        let b = b.map(|b| Told::of(b, &other)).transpose()?;
        self.tell(&a, b.as_ref());
        Ok(())
    }

    fn tell(&self, a: &Told<'_>, b: Option<&Told<'_>>) {
        while let Some(ask) = next(&self.told) {
            let answer = match (&ask.what, b) {
                (What::Plain, _) => Ok(plain(a).into_bytes()),
                (What::Request(request), Some(b)) if request.part == Part::Compare => compare(a, b),
                (What::Request(request), Some(b)) if request.side == Side::B => {
                    b.answer(&request.part)
                }
                (What::Request(request), _) if request.side == Side::A => a.answer(&request.part),
                (What::Request(_), _) => Err(Refusal::Nothing),
            };
            let _ = ask.reply.send(answer);
        }
    }

    /// The rules could not be asked.
    fn refuse(&self, fault: &anyhow::Error) {
        while let Some(ask) = next(&self.told) {
            let _ = ask.reply.send(Err(Refusal::failed(fault)));
        }
    }
}

fn listen(listener: TcpListener, desk: Arc<Desk>, idle: Duration) {
    let watched = desk.clone();
    let router = Router::new()
        .route("/", get(page))
        .route("/plain", get(plain_page))
        .route("/api/{*request}", get(api))
        .route("/alive", get(|| async { StatusCode::NO_CONTENT }))
        .layer(middleware::from_fn_with_state(desk.clone(), guarded))
        .with_state(desk);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let served = runtime.map(|runtime| {
        runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(listener)?;
            tokio::select! {
                served = axum::serve(listener, router) => served,
                () = watched.is_forgotten(idle) => {
                    crate::out::note("no page is open any more: ended");
                    std::process::exit(0)
                }
            }
        })
    });
    if let Ok(Err(fault)) | Err(fault) = served {
        crate::out::tell(format_args!("the page is no longer served: {fault}"));
    }
}

/// Nobody else may frame it, guess what it is, keep it, or learn its address.
const HEADERS: [(HeaderName, &str); 5] = [
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (header::CONTENT_SECURITY_POLICY, "frame-ancestors 'none'"),
];

/// Lets through only who asks for this machine's own address, from no other site, with the token.
async fn guarded(State(desk): State<Arc<Desk>>, request: HttpRequest, next: Next) -> Response {
    let mut response = match desk.refuses(request.headers(), request.uri()) {
        Some(why) => (StatusCode::FORBIDDEN, HtmlBody(forbidden(why))).into_response(),
        None => {
            desk.is_asked();
            next.run(request).await
        }
    };
    for (name, value) in HEADERS {
        let value = header::HeaderValue::from_static(value);
        response.headers_mut().insert(name, value);
    }
    response
}

fn forbidden(why: &str) -> String {
    format!(
        "<!doctype html><title>timesink</title><p>{}</p>",
        escaped(why)
    )
}

impl Desk {
    fn is_asked(&self) {
        if let Ok(mut asked) = self.asked.lock() {
            *asked = Instant::now();
        }
    }

    /// Waits until nobody has asked for so long.
    async fn is_forgotten(&self, idle: Duration) {
        loop {
            let asked = self.asked.lock().map_or(Duration::ZERO, |at| at.elapsed());
            match idle.checked_sub(asked) {
                None | Some(Duration::ZERO) => return,
                Some(left) => tokio::time::sleep(left).await,
            }
        }
    }

    /// Why somebody is not answered.
    fn refuses(&self, headers: &HeaderMap, uri: &Uri) -> Option<&'static str> {
        let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok());
        let port = self.address.port();
        let own = [format!("127.0.0.1:{port}"), format!("localhost:{port}")];
        let is_own = |host: &str| own.iter().any(|one| one == host);
        // A name that somebody else had lead here is not this machine's.
        if !text(header::HOST).is_some_and(is_own) {
            return Some("This page is only served as 127.0.0.1.");
        }
        if let Some(origin) = text(header::ORIGIN) {
            if !origin.strip_prefix("http://").is_some_and(is_own) {
                return Some("This page is not for other sites.");
            }
        }
        let query = uri.query().unwrap_or("");
        let is_known = match uri.path() {
            "/" => self.is_token_in(query) || self.is_once_in(query),
            "/plain" => self.is_token_in(query),
            _ => headers
                .get(HEADER)
                .and_then(|value| value.to_str().ok())
                .is_some_and(|text| is_same(text, &self.token)),
        };
        match is_known {
            true => None,
            false => Some("Open the address that timesink printed: this one has no valid token."),
        }
    }

    fn is_token_in(&self, query: &str) -> bool {
        in_query(query).is_some_and(|text| is_same(text, &self.token))
    }

    fn is_once_in(&self, query: &str) -> bool {
        let once = self.once.lock();
        let once = once.as_ref().ok().and_then(|once| once.as_ref());
        in_query(query)
            .zip(once)
            .is_some_and(|(text, once)| is_same(text, once))
    }

    async fn ask(&self, to: &Sender<Ask>, what: What) -> Answer {
        let (reply, answer) = oneshot::channel();
        let gone = || Refusal::failed("timesink is ending");
        to.send(Ask { what, reply }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }
}

fn in_query(query: &str) -> Option<&str> {
    query.strip_prefix("token=")
}

/// Each byte is looked at, however many are right.
fn is_same(text: &str, token: &str) -> bool {
    let differ = text.bytes().zip(token.bytes());
    let differ = differ.fold(0, |sum, (one, other)| sum | (one ^ other));
    text.len() == token.len() && differ == 0
}

async fn page(State(desk): State<Arc<Desk>>, uri: Uri) -> Response {
    if desk.is_token_in(uri.query().unwrap_or("")) {
        return HtmlBody(desk.page.clone()).into_response();
    }
    // It has led here, and leads nobody else.
    if let Ok(mut once) = desk.once.lock() {
        once.take();
    }
    Redirect::to(&format!("/?token={}", desk.token)).into_response()
}

async fn plain_page(State(desk): State<Arc<Desk>>) -> Response {
    match desk.ask(&desk.told, What::Plain).await {
        Ok(text) => {
            let text = String::from_utf8_lossy(&text);
            let page =
                format!("<!doctype html><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><title>timesink</title>{text}");
            HtmlBody(page).into_response()
        }
        Err(refusal) => refused(&refusal),
    }
}

async fn api(State(desk): State<Arc<Desk>>, uri: Uri) -> Response {
    let path = uri.path_and_query().map_or("", |path| path.as_str());
    let asked = path.strip_prefix("/api/").and_then(Request::parse);
    let Some(request) = asked else {
        return fault(
            StatusCode::BAD_REQUEST,
            "this is no request that the page makes",
        );
    };
    let to = match request.part {
        Part::Answer | Part::Bands | Part::WhatIf | Part::Predict(_) | Part::Compare => &desk.told,
        _ => &desk.data,
    };
    match desk.ask(to, What::Request(request)).await {
        Ok(json) => ([(header::CONTENT_TYPE, "application/json")], json).into_response(),
        Err(refusal) => refused(&refusal),
    }
}

fn refused(refusal: &Refusal) -> Response {
    let status = match refusal {
        Refusal::Nothing => StatusCode::NOT_FOUND,
        Refusal::Failed(_) => StatusCode::INTERNAL_SERVER_ERROR,
    };
    fault(status, &refusal.to_string())
}

fn fault(status: StatusCode, sentence: &str) -> Response {
    let json = serde_json::json!({ "error": sentence }).to_string();
    (status, [(header::CONTENT_TYPE, "application/json")], json).into_response()
}
