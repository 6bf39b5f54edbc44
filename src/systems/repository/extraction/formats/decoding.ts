/** Decodes the bytes of documents to text. */

/** Takes the next piece of the text of a document; throws when the text is long enough. */
export type WriteText = (text: string) => void

/** Number of leading bytes of markup searched for a declared character set, as in browsers. */
const declarationBytes = 1024
const inMarkup =
  /<meta\s[^>]*?charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml\s[^>]*?encoding\s*=\s*["']([\w.:-]+)/i

/** The name of the character set: by byte order mark, media type, or the declaration in markup. */
function charsetOf(content: Uint8Array, mediaType: string | undefined, isMarkup = false): string {
  if (content[0] === 0xff && content[1] === 0xfe) return 'utf-16le'
  if (content[0] === 0xfe && content[1] === 0xff) return 'utf-16be'
  if (content[0] === 0xef && content[1] === 0xbb && content[2] === 0xbf) return 'utf-8'
  const inType = /;\s*charset\s*=\s*"?([\w.:-]+)/i.exec(mediaType ?? '')?.[1]
  if (inType !== undefined || !isMarkup) return inType ?? 'utf-8'
  const begin = Buffer.from(content.subarray(0, declarationBytes)).toString('latin1')
  const declared = inMarkup.exec(begin)
  const name = declared?.[1] ?? declared?.[2] ?? 'utf-8'
  // The declaration was readable as single bytes, so the character set cannot be UTF-16.
  return /^utf-?16/i.test(name) ? 'utf-8' : name
}

const chunkBytes = 65_536

/** A decoder of a character set; of UTF-8 if Node does not support the character set. */
function decoderOf(charset: string): InstanceType<typeof TextDecoder> {
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
