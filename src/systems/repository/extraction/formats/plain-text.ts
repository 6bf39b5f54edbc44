/** Reads plain text, and other formats that are indexed as plain text: CSV, Markdown, JSON. */
import { charsetOf } from '../media-types.js'
import type { TextSink } from '../text-sink.js'

const chunkBytes = 65_536

/** A decoder of a character set; of UTF-8 if Node does not support the character set. */
export function decoderOf(charset: string): InstanceType<typeof TextDecoder> {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder('utf-8')
  }
}

/** Decodes a document in pieces. */
export function* decoded(
  content: Uint8Array,
  mediaType: string | undefined,
  isMarkup = false,
): Generator<string> {
  const decoder = decoderOf(charsetOf(content, mediaType, isMarkup))
  for (let at = 0; at < content.length; at += chunkBytes) {
    yield decoder.decode(content.subarray(at, at + chunkBytes), { stream: true })
  }
  yield decoder.decode()
}

/** Writes the text of a document. */
export function extractPlainText(
  content: Uint8Array,
  mediaType: string | undefined,
  sink: TextSink,
): void {
  for (const text of decoded(content, mediaType)) sink.write(text)
}
