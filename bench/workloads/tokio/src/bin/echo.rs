//! A client asks a server over a connection; the server takes 5 ms for each answer.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_clocks::{awaiting, compute, ms, on_thread, run};

async fn serve(mut stream: TcpStream) {
    let mut bytes = [0; 64];
    loop {
        let length = stream.read(&mut bytes).await.unwrap();
        if length == 0 {
            return;
        }
        on_thread("serve", || compute(ms(5)));
        stream.write_all(&bytes[..length]).await.unwrap();
    }
}

async fn ask(port: u16) {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let mut bytes = [0; 64];
    for _ in 0..80 {
        stream.write_all(b"what is the time?").await.unwrap();
        awaiting("ask", stream.read(&mut bytes)).await.unwrap();
    }
}

fn main() {
    run(2, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let asks = tokio::spawn(ask(port));
        let (stream, _) = listener.accept().await.unwrap();
        let serves = tokio::spawn(serve(stream));
        asks.await.unwrap();
        serves.await.unwrap();
    });
}
