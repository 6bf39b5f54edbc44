/** The file info: bytes by name, in a block of its own. */
import type { CellarError } from '../../base/errors.js'
import { encodeMessage, delimited, ProtoReader, type ProtoField } from './bytes/proto.js'

const magic = Buffer.from('PBUF', 'latin1')

/** Encodes the payload of a file info. */
export function encodeFileInfo(info: ReadonlyMap<string, Buffer>): Buffer {
  const pairs = [...info].map(([name, value]): [Buffer, Buffer] => [Buffer.from(name), value])
  pairs.sort(([a], [b]) => Buffer.compare(a, b))
  const entries = pairs.map(([name, value]): ProtoField => {
    return [
      1,
      encodeMessage([
        [1, name],
        [2, value],
      ]),
    ]
  })
  return Buffer.concat([magic, delimited(encodeMessage(entries))])
}

/** Decodes a payload. `damaged` makes the error for other bytes, by their finding. */
export function decodeFileInfo(
  payload: Buffer,
  damaged: (found: string) => CellarError,
): Map<string, Buffer> {
  if (!payload.subarray(0, magic.length).equals(magic)) throw damaged('no protobuf')
  const info = new Map<string, Buffer>()
  const reader = new ProtoReader(payload, magic.length, payload.length, damaged)
  for (const [, entry] of reader.message()) {
    if (typeof entry === 'number') throw damaged('an entry that is a number')
    const [name, value] = new ProtoReader(entry, 0, entry.length, damaged).fields()
    if (typeof name?.[1] !== 'object' || typeof value?.[1] !== 'object') {
      throw damaged('an entry without name and value')
    }
    info.set(name[1].toString('latin1'), value[1])
  }
  return info
}

/** A number of four bytes. */
export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** A number of eight bytes. */
export function int64(value: number | bigint): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigInt64BE(BigInt(value))
  return bytes
}
