//! The server: plain HTTP/1.1 with limits on everything, on threads of its own.

mod connections;

use crate::crawl::Crawl;
use crate::fleet::Source;
use crate::fleet::watch::Watch;
use crate::frame;
use crate::guard::{Guard, Refusal};
use crate::map::Map;
use crate::pulse::{self, Beat, Pulse};
use crate::routes::{self, Answer, Asked};
use crate::settings::Settings;
use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, Limited, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::sync::{Semaphore, watch};
use tokio::time::{sleep, timeout};

/// Of all connections, those that wait for news.
const MOST_LISTENERS: usize = 24;
/// Pages made at a time: the robot needs the processors too.
const MOST_AT_WORK: usize = 2;
/// A request must be there by then.
const READING: Duration = Duration::from_secs(5);
/// A page must be made by then.
const MAKING: Duration = Duration::from_secs(30);
/// What a form may hold.
const LARGEST_FORM: usize = 64 << 10;
/// For a wrong token.
const PENALTY: Duration = Duration::from_secs(1);
/// Between two signs of life to those who listen.
const QUIET: Duration = Duration::from_secs(15);

/// Nothing but what this server has itself; no script or style within pages; no frames.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
                      form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
/// What an archived copy may do: nothing.
const POLICY_OF_COPIES: &str = "default-src 'none'; sandbox";

type Body = UnsyncBoxBody<Bytes, Infallible>;

/// All that requests need.
pub(crate) struct House {
    pub crawl: Option<Crawl>,
    pub fleet: Option<Watch>,
    pub map: Option<Map>,
    pub settings: Settings,
    pub guard: Guard,
    pub pulse: Arc<Pulse>,
    pub cache: routes::Cache,
    listeners: Arc<Semaphore>,
    at_work: Arc<Semaphore>,
}

/// The house, seen from a crawl.
pub(crate) struct Window<'a> {
    pub crawl: &'a Crawl,
    house: &'a House,
}

impl Deref for Window<'_> {
    type Target = House;

    fn deref(&self) -> &House {
        self.house
    }
}

impl House {
    /// For pages about a crawl, where there is one.
    pub fn window(&self) -> Option<Window<'_>> {
        let crawl = self.crawl.as_ref()?;
        Some(Window { crawl, house: self })
    }

    /// What people call what is shown.
    pub fn name(&self) -> String {
        match (&self.crawl, &self.fleet) {
            (Some(crawl), _) => crawl.name(),
            (None, Some(fleet)) => fleet.name(),
            (None, None) => String::new(),
        }
    }
}

/// What a dashboard shows: a crawl, a fleet, or a crawl that is a part of one.
#[derive(Default)]
pub struct Shown {
    /// A crawl.
    pub crawl: Option<Crawl>,
    /// Where what was seen of it over time is kept.
    pub history: Option<PathBuf>,
    /// A fleet.
    pub fleet: Option<Box<dyn Source>>,
}

/// An address that is ours; nobody is answered yet.
pub struct Bound {
    listener: TcpListener,
    settings: Settings,
}

/// A dashboard that is served until it is dropped.
pub struct Dashboard {
    address: SocketAddr,
    runtime: Option<tokio::runtime::Runtime>,
    pulse: Arc<Pulse>,
}

/// Takes the address, so that a crawl need not start where it cannot be seen.
pub fn bind(settings: Settings) -> std::io::Result<Bound> {
    let listener = TcpListener::bind(settings.listen)?;
    listener.set_nonblocking(true)?;
    Ok(Bound { listener, settings })
}

impl Bound {
    /// Serves until what it returns is dropped.
    pub fn serve(self, shown: Shown) -> anyhow::Result<Dashboard> {
        let address = self.listener.local_addr()?;
        let settings = Settings {
            listen: address,
            ..self.settings
        };
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .max_blocking_threads(2 * MOST_AT_WORK)
            .thread_name("dashboard")
            .enable_all()
            .build()?;
        let pulse = Arc::new(Pulse::new(shown.crawl.as_ref(), shown.history));
        let window = Arc::new(House {
            guard: Guard::new(&settings),
            crawl: shown.crawl,
            fleet: shown.fleet.map(Watch::new),
            map: settings.map.clone().map(Map::new),
            settings,
            pulse: pulse.clone(),
            cache: routes::Cache::default(),
            listeners: Arc::new(Semaphore::new(MOST_LISTENERS)),
            at_work: Arc::new(Semaphore::new(MOST_AT_WORK)),
        });
        pulse::start(&window)?;
        let _inside = runtime.enter();
        let listener = tokio::net::TcpListener::from_std(self.listener)?;
        runtime.spawn(connections::accept(listener, window));
        Ok(Dashboard {
            address,
            runtime: Some(runtime),
            pulse,
        })
    }
}

impl Dashboard {
    /// Where a browser finds it.
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }
}

impl Drop for Dashboard {
    fn drop(&mut self) {
        self.pulse.end();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// Answers a request; `listens` becomes true if its answer is the stream of news.
async fn respond(
    request: Request<Incoming>,
    window: &Arc<House>,
    listens: &AtomicBool,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    if let Err(refusal) = window.guard.admit(&head.method, &head.headers) {
        return refused(refusal);
    }
    let path = head.uri.path().to_owned();
    if let Some(answer) = routes::asset(&path) {
        return finish(answer);
    }
    let is_post = head.method == Method::POST;
    let form = if is_post {
        let read = timeout(READING, Limited::new(body, LARGEST_FORM).collect()).await;
        match read {
            Ok(Ok(form)) => form.to_bytes(),
            _ => {
                return finish(Answer::words(
                    StatusCode::BAD_REQUEST,
                    "The form could not be read.",
                ));
            }
        }
    } else {
        Bytes::new()
    };
    let asked = Asked::new(path, head.uri.query().unwrap_or(""), &form, is_post);
    if is_post && asked.path == "/enter" {
        return enter(&asked, window).await;
    }
    if let Err(refusal) = window.guard.knows(&head.headers) {
        return finish(Answer::page(refusal.status(), frame::door(None)));
    }
    if is_post && let Err(refusal) = window.guard.may_act() {
        return refused(refusal);
    }
    if asked.path == "/live" {
        return live(window, listens);
    }
    make(asked, window).await
}

/// Makes a page on a thread that may wait for disks and for the robot.
async fn make(asked: Asked, window: &Arc<House>) -> Response<Body> {
    let busy = || {
        finish(Answer::words(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many requests at once.",
        ))
    };
    let turn = timeout(MAKING, window.at_work.clone().acquire_owned()).await;
    let Ok(Ok(turn)) = turn else { return busy() };
    let for_page = window.clone();
    let made = tokio::task::spawn_blocking(move || {
        let answer = routes::answer(&for_page, &asked);
        drop(turn);
        answer
    });
    match timeout(MAKING, made).await {
        Ok(Ok(answer)) => finish(answer),
        _ => busy(),
    }
}

async fn enter(asked: &Asked, window: &House) -> Response<Body> {
    let Some(cookie) = window.guard.enter(asked.get("token").unwrap_or("")) else {
        sleep(PENALTY).await;
        let again = frame::door(Some(Refusal::Token.words()));
        return finish(Answer::page(Refusal::Token.status(), again));
    };
    let mut answer = Answer::see("/");
    answer.cookie = Some(cookie);
    finish(answer)
}

/// News as they come: a line whenever something happened, and now and then one to tell that we are alive.
fn live(window: &House, listens: &AtomicBool) -> Response<Body> {
    let Ok(seat) = window.listeners.clone().try_acquire_owned() else {
        return finish(Answer::words(
            StatusCode::SERVICE_UNAVAILABLE,
            "Too many open connections.",
        ));
    };
    listens.store(true, Ordering::Relaxed);
    let beats = window.pulse.beats();
    let news = stream::unfold((beats, seat, true), |(mut beats, seat, first)| async move {
        let text = if first {
            "retry: 3000\n\n".to_owned()
        } else {
            next(&mut beats).await?
        };
        let frame = Frame::data(Bytes::from(text));
        Some((Ok(frame), (beats, seat, false)))
    });
    let mut response = Response::new(BodyExt::boxed_unsync(StreamBody::new(news)));
    dress(&mut response, POLICY);
    let kind = HeaderValue::from_static("text/event-stream");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

async fn next(beats: &mut watch::Receiver<Beat>) -> Option<String> {
    match timeout(QUIET, beats.changed()).await {
        Ok(Ok(())) => Some(beats.borrow_and_update().line()),
        Ok(Err(_)) => None,
        Err(_) => Some(": still here\n\n".into()),
    }
}

fn refused(refusal: Refusal) -> Response<Body> {
    finish(Answer::words(refusal.status(), refusal.words()))
}

fn finish(answer: Answer) -> Response<Body> {
    let mut response = Response::new(BodyExt::boxed_unsync(Full::new(answer.body)));
    *response.status_mut() = answer.status;
    dress(
        &mut response,
        if answer.is_copy {
            POLICY_OF_COPIES
        } else {
            POLICY
        },
    );
    let headers = response.headers_mut();
    let mut put = |name: HeaderName, value: &str| {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    };
    put(header::CONTENT_TYPE, answer.kind);
    if let Some(place) = &answer.location {
        put(header::LOCATION, place);
    }
    if let Some(cookie) = &answer.cookie {
        put(header::SET_COOKIE, cookie);
    }
    response
}

/// What every answer says of itself.
fn dress(response: &mut Response<Body>, policy: &'static str) {
    let headers = [
        (header::CONTENT_SECURITY_POLICY, policy),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // with "no-referrer", browsers would not say that our own forms come from here
        (header::REFERRER_POLICY, "same-origin"),
        (header::CACHE_CONTROL, "no-store"),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("permissions-policy"),
            "camera=(), geolocation=(), microphone=()",
        ),
    ];
    for (name, value) in headers {
        response
            .headers_mut()
            .insert(name, HeaderValue::from_static(value));
    }
}
