/** Extracts text from Office documents that are ZIP archives of XML: OOXML, OpenDocument, EPUB. */
import type { WriteText } from './decoding.js'
import { htmlRules, markupParser, type MarkupRules } from './markup.js'
import { inflated, zipEntries } from './zip.js'

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
