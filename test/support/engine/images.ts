/** Smallest headers that say how large an image is; enough for everything that only measures. */
export function pngBase64(width: number, height: number, padBytes = 0): string {
  const bytes = Buffer.alloc(24 + padBytes);
  bytes.write('\x89PNG\r\n\x1a\n', 0, 'latin1');
  bytes.writeUInt32BE(13, 8);
  bytes.write('IHDR', 12, 'latin1');
  bytes.writeUInt32BE(width, 16);
  bytes.writeUInt32BE(height, 20);
  return bytes.toString('base64');
}

export function jpegBase64(width: number, height: number, metadataBytes = 0): string {
  const app = Buffer.alloc(4 + metadataBytes);
  app.writeUInt16BE(0xffe1, 0);
  app.writeUInt16BE(2 + metadataBytes, 2);
  const frame = Buffer.from([
    0xff,
    0xc0,
    0,
    11,
    8,
    height >> 8,
    height & 255,
    width >> 8,
    width & 255,
    1,
    1,
    0x11,
    0,
  ]);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), app, frame, Buffer.from([0xff, 0xd9])]).toString('base64');
}

export function gifBase64(width: number, height: number): string {
  const bytes = Buffer.alloc(13);
  bytes.write('GIF89a', 0, 'latin1');
  bytes.writeUInt16LE(width, 6);
  bytes.writeUInt16LE(height, 8);
  return bytes.toString('base64');
}

export function webpBase64(width: number, height: number): string {
  const bytes = Buffer.alloc(30);
  bytes.write('RIFF', 0, 'latin1');
  bytes.write('WEBPVP8X', 8, 'latin1');
  bytes.writeUIntLE(width - 1, 24, 3);
  bytes.writeUIntLE(height - 1, 27, 3);
  return bytes.toString('base64');
}
