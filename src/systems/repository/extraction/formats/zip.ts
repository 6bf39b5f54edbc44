/** Reads the entries of a ZIP archive in pieces, so that no entry is in memory as a whole. */
import { createInflateRaw } from 'node:zlib'

/** An entry of an archive. */
export interface ZipEntry {
  readonly name: string
  readonly method: number
  readonly compressed: Uint8Array
}

const endSignature = 0x06054b50
const entrySignature = 0x02014b50
const endBytes = 22
const commentBytesMax = 65_535

/** The entries of an archive, from its directory. Throws if the archive is damaged. */
export function zipEntries(content: Uint8Array): ZipEntry[] {
  const bytes = Buffer.from(content.buffer, content.byteOffset, content.length)
  let end = bytes.length - endBytes
  const lowest = Math.max(0, end - commentBytesMax)
  while (end >= lowest && bytes.readUInt32LE(end) !== endSignature) end--
  if (end < lowest) throw new Error('the archive has no directory')
  const count = bytes.readUInt16LE(end + 10)
  let at = bytes.readUInt32LE(end + 16)
  const entries: ZipEntry[] = []
  for (let i = 0; i < count; i++) {
    if (bytes.readUInt32LE(at) !== entrySignature) throw new Error('the directory is damaged')
    const size = bytes.readUInt32LE(at + 20)
    const nameLength = bytes.readUInt16LE(at + 28)
    const local = bytes.readUInt32LE(at + 42)
    const name = bytes.toString('utf8', at + 46, at + 46 + nameLength)
    const start = local + 30 + bytes.readUInt16LE(local + 26) + bytes.readUInt16LE(local + 28)
    const compressed = bytes.subarray(start, start + size)
    if (compressed.length < size) throw new Error(`the entry ${name} ends too early`)
    entries.push({ name, method: bytes.readUInt16LE(at + 10), compressed })
    at += 46 + nameLength + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return entries
}

/** The content of an entry, in pieces. */
export async function* inflated({
  name,
  method,
  compressed,
}: ZipEntry): AsyncGenerator<Uint8Array> {
  if (method === 0) yield compressed
  else if (method !== 8) throw new Error(`the entry ${name} has an unknown compression`)
  else {
    const stream = createInflateRaw({ chunkSize: 65_536 })
    stream.end(compressed)
    for await (const piece of stream) yield piece as Buffer
  }
}
