//! Asks a server 8,000 times: through ureq's own functions, or through one agent.

fn main() {
    let kept = std::env::args().nth(1).map(|_| ureq::agent());
    for _ in 0..8000 {
        let request = match &kept {
            Some(agent) => agent.get("http://127.0.0.1:18500/"),
            None => ureq::get("http://127.0.0.1:18500/"),
        };
        request
            .call()
            .expect("an answer")
            .into_string()
            .expect("its text");
    }
}
