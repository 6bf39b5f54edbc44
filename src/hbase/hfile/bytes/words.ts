/**
 * Copies of values by words: a call of `Buffer.copy` costs as much as the copy of a value of 200
 * bytes.
 */

/** From this length on, the copy of the runtime is quicker. */
const wordsMax = 400

/** The view by words of the buffer that was asked for last. */
export class Words {
  #buffer: Buffer | undefined = undefined
  #view: DataView = new DataView(new ArrayBuffer(0))

  of(buffer: Buffer): DataView {
    if (buffer !== this.#buffer) {
      this.#buffer = buffer
      this.#view = new DataView(buffer.buffer, buffer.byteOffset, buffer.length)
    }
    return this.#view
  }
}

/** Copies `source[start, end)` to `target[at, …)`. */
export function copyWords(
  source: DataView,
  start: number,
  end: number,
  target: DataView,
  at: number,
): void {
  const length = end - start
  if (length > wordsMax) {
    const bytes = new Uint8Array(source.buffer, source.byteOffset + start, length)
    new Uint8Array(target.buffer, target.byteOffset + at, length).set(bytes)
    return
  }
  let i = 0
  for (; i + 4 <= length; i += 4) target.setInt32(at + i, source.getInt32(start + i))
  for (; i < length; i++) target.setUint8(at + i, source.getUint8(start + i))
}
