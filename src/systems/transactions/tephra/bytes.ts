/** Reads numbers and bytes from files and messages of Tephra. */
import { invalidArgument } from '../../../api/index.js'
import { AvroReader } from '../../bytes/avro.js'
import { endsEarly } from '../../bytes/byte-reader.js'

const what = 'bytes of Tephra'

/** A position in bytes that advances with each read. `ERR_INVALID_ARGUMENT` after their end. */
export class ByteSource extends AvroReader {
  constructor(bytes: Uint8Array) {
    super(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength), what)
  }

  /** Two bytes, signed. */
  int16(): number {
    return this.raw(2).readInt16BE()
  }

  /** The number of the following records of at least `bytes` bytes; they must be present. */
  records(count: number | bigint, bytes = 1): number {
    if (count < 0) throw this.failure(`${count} records`)
    if (Number(count) * bytes > this.left) throw this.failure(endsEarly)
    return Number(count)
  }
}

/** `ERR_INVALID_ARGUMENT` for bytes that Tephra has not written. */
export function malformed(problem: string): Error {
  return invalidArgument(`malformed ${what}: ${problem}`)
}
