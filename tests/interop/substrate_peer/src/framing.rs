//! Messages with their length in front, and the codec of requests as sc-network has it: the request's writer
//! closes its side, and request-response closes it once more.

use std::io;

use async_trait::async_trait;
use futures::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use libp2p::request_response::Codec;
use libp2p::StreamProtocol;

use crate::MAX_MESSAGE;

/// One message.
pub async fn read<T: AsyncRead + Unpin + Send>(io: &mut T) -> io::Result<Vec<u8>> {
    let length = unsigned_varint::aio::read_usize(&mut *io)
        .await
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error.to_string()))?;
    if length > MAX_MESSAGE {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "too long a message"));
    }
    let mut message = vec![0; length];
    io.read_exact(&mut message).await?;
    Ok(message)
}

/// Send one message.
pub async fn write<T: AsyncWrite + Unpin + Send>(io: &mut T, message: &[u8]) -> io::Result<()> {
    let mut buffer = unsigned_varint::encode::usize_buffer();
    io.write_all(unsigned_varint::encode::usize(message.len(), &mut buffer))
        .await?;
    io.write_all(message).await?;
    io.flush().await
}

/// The codec of all request protocols.
#[derive(Debug, Clone, Default)]
pub struct Framed;

#[async_trait]
impl Codec for Framed {
    type Protocol = StreamProtocol;
    type Request = Vec<u8>;
    type Response = Vec<u8>;

    async fn read_request<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io).await
    }

    async fn read_response<T>(&mut self, _: &StreamProtocol, io: &mut T) -> io::Result<Vec<u8>>
    where
        T: AsyncRead + Unpin + Send,
    {
        read(io).await
    }

    async fn write_request<T>(&mut self, _: &StreamProtocol, io: &mut T, data: Vec<u8>) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write(io, &data).await?;
        io.close().await
    }

    async fn write_response<T>(&mut self, _: &StreamProtocol, io: &mut T, data: Vec<u8>) -> io::Result<()>
    where
        T: AsyncWrite + Unpin + Send,
    {
        write(io, &data).await?;
        io.close().await
    }
}
