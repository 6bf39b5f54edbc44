/**
 * Extracts text from Office documents that are ZIP archives of XML: OOXML, OpenDocument, EPUB. The
 * entries are read in pieces, so that no entry is in memory as a whole.
 */
import { createInflateRaw } from 'node:zlib'
import type { WriteText } from './decoding.js'
import { htmlRules, markupParser, type MarkupRules } from './markup.js'

const set = (names: string): ReadonlySet<string> => new Set(names.split(' '))

const word: MarkupRules = {
  isXml: true,
  within: set('w:t'),
  lines: set('w:p'),
  texts: { 'w:tab': '\t', 'w:br': '\n', 'w:cr': '\n' },
}
const slides: MarkupRules = { isXml: true, within: set('a:t'), lines: set('a:p') }
const openDocument: MarkupRules = {
  isXml: true,
  within: set('office:body'),
  lines: set('text:p text:h'),
  texts: { 'text:tab': '\t', 'text:line-break': '\n', 'text:s': ' ' },
}

const sharedStrings: MarkupRules = { isXml: true, within: set('t'), lines: set('si') }
const sheets: MarkupRules = {
  isXml: true,
  within: set('v t'),
  lines: set('c'),
  // A shared text has an index as value; the text itself is in sharedStrings.xml.
  skips: (name, attributes) => name === 'c' && attributes['t'] === 's',
}

/** Entries of a kind of document that contain text, and their rules. */
const parts: readonly (readonly [entries: RegExp, rules: MarkupRules])[] = [
  [/^word\/(document|footnotes|endnotes|comments|header\d*|footer\d*)\.xml$/, word],
  [/^ppt\/(slides|notesSlides)\/[^/]+\.xml$/, slides],
  [/^xl\/sharedStrings\.xml$/, sharedStrings],
  [/^xl\/worksheets\/[^/]+\.xml$/, sheets],
  [/^content\.xml$/, openDocument],
  [/\.x?html?$/, htmlRules],
]

/** Writes the text of an archive; throws if the kind of document is unknown. */
export async function extractOffice(
  content: Uint8Array,
  write: WriteText,
  inflatedBytesMax: number,
): Promise<void> {
  const found = zipEntries(content).flatMap((entry) => {
    const part = parts.find(([entries]) => entries.test(entry.name))
    return part === undefined ? [] : [{ entry, rules: part[1] }]
  })
  if (found.length === 0) throw new Error('the archive is no document of a known kind')
  found.sort((a, b) => naturalOrder.compare(a.entry.name, b.entry.name))
  let left = inflatedBytesMax
  for (const { entry, rules } of found) {
    const parser = await markupParser(rules, write)
    const decoder = new TextDecoder('utf-8')
    for await (const piece of inflated(entry)) {
      left -= piece.length
      if (left < 0) throw new Error('the archive holds too many bytes')
      parser.write(decoder.decode(piece, { stream: true }))
    }
    parser.write(decoder.decode())
    parser.end()
  }
}

/** Sorts slide2 before slide10. */
const naturalOrder = new Intl.Collator('en', { numeric: true })

interface ZipEntry {
  readonly name: string
  readonly method: number
  readonly compressed: Uint8Array
}

const endSignature = 0x06054b50
const entrySignature = 0x02014b50
const endBytes = 22
const commentBytesMax = 65_535

/** The entries of an archive, from its directory. Throws if the archive is damaged. */
function zipEntries(content: Uint8Array): ZipEntry[] {
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

async function* inflated({ name, method, compressed }: ZipEntry): AsyncGenerator<Uint8Array> {
  if (method === 0) yield compressed
  else if (method !== 8) throw new Error(`the entry ${name} has an unknown compression`)
  else {
    const stream = createInflateRaw({ chunkSize: 65_536 })
    stream.end(compressed)
    for await (const piece of stream) yield piece as Buffer
  }
}
