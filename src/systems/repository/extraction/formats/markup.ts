/** Extracts text from HTML and XML. Entities of a document type are not expanded. */
import type * as HtmlParser from 'htmlparser2'
import { decoded, type WriteText } from './decoding.js'

/** Which text of a kind of markup is extracted. */
export interface MarkupRules {
  readonly isXml: boolean
  /** Only text within these elements; undefined: all text. */
  readonly within?: ReadonlySet<string>
  /** Elements whose text is left out. */
  readonly without?: ReadonlySet<string>
  /** Elements that end a line. */
  readonly lines?: ReadonlySet<string>
  /** Elements that stand for text. */
  readonly texts?: Readonly<Record<string, string>>
  /** Whether an element is skipped, by its attributes. */
  readonly skips?: (name: string, attributes: Readonly<Record<string, string>>) => boolean
}

const breaks =
  'address article aside blockquote br dd div dl dt fieldset figcaption figure footer form h1 h2 ' +
  'h3 h4 h5 h6 header hr li main nav ol option p pre section table td th title tr ul'

/** Rules for HTML. */
export const htmlRules: MarkupRules = {
  isXml: false,
  without: new Set(['script', 'style', 'noscript', 'template']),
  lines: new Set(breaks.split(' ')),
}

/** Rules for any XML: every element ends a line. */
export const xmlRules: MarkupRules = { isXml: true }

/** A parser that writes the extracted text. Node's `ERR_MODULE_NOT_FOUND` without htmlparser2. */
export async function markupParser(
  rules: MarkupRules,
  write: WriteText,
): Promise<HtmlParser.Parser> {
  const name = 'htmlparser2'
  const { Parser } = (await import(name)) as typeof HtmlParser
  const { within, without, lines, texts, skips } = rules
  let inside = 0
  let outside = 0
  const skipped: string[] = []
  return new Parser(
    {
      onopentag: (tag, attributes) => {
        if (within?.has(tag) === true) inside++
        if (without?.has(tag) === true) outside++
        if (skips?.(tag, attributes) === true) {
          skipped.push(tag)
          outside++
        }
        const text = texts !== undefined && Object.hasOwn(texts, tag) ? texts[tag] : undefined
        if (text !== undefined && outside === 0) write(text)
      },
      onclosetag: (tag) => {
        if (within?.has(tag) === true) inside--
        if (without?.has(tag) === true) outside--
        if (skipped.length > 0 && skipped.at(-1) === tag) {
          skipped.pop()
          outside--
        }
        if (lines === undefined || lines.has(tag)) write('\n')
      },
      ontext: (text) => {
        if (outside === 0 && (within === undefined || inside > 0)) write(text)
      },
    },
    { xmlMode: rules.isXml, decodeEntities: true },
  )
}

/** Writes the text of an HTML or XML document. */
export async function extractMarkup(
  content: Uint8Array,
  mediaType: string | undefined,
  format: 'html' | 'xml',
  write: WriteText,
): Promise<void> {
  const parser = await markupParser(format === 'html' ? htmlRules : xmlRules, write)
  // Undefined once the beginning, which may declare a document type, was parsed.
  let begin: string | undefined = ''
  for (const text of decoded(content, mediaType, true)) {
    if (begin !== undefined) begin += text
    if (begin === undefined) parser.write(text)
    else if (begin.length > declarationMax) {
      parser.write(withoutDocumentType(begin))
      begin = undefined
    }
  }
  if (begin !== undefined) parser.write(withoutDocumentType(begin))
  parser.end()
}

/** Maximum length of a document type; longer markup is not taken for a declaration. */
const declarationMax = 1 << 20

/**
 * Removes the declaration of a document type, which precedes the first element. The internal subset
 * may contain any character, but the parser takes the first `>` for its end, and the rest for text.
 */
function withoutDocumentType(text: string): string {
  const start = text.search(/<!doctype\b/i)
  const element = text.search(/<[a-z]/i)
  if (start < 0 || (element >= 0 && element < start)) return text
  const end = endOfDeclaration(text, start)
  return end === undefined ? text : text.slice(0, start) + text.slice(end)
}

/** The position after a declaration: after its `>` outside of quotes, comments and the subset. */
function endOfDeclaration(text: string, start: number): number | undefined {
  const parts = /<!--[^]*?-->|"[^"]*"|'[^']*'|<!--|["'[\]<>]/g
  parts.lastIndex = start + '<!doctype'.length
  let inSubset = false
  for (let match = parts.exec(text); match !== null; match = parts.exec(text)) {
    const [part] = match
    if (part === '"' || part === "'" || part === '<!--') return undefined
    if (part === '[') inSubset = true
    else if (part === ']') inSubset = false
    else if (part === '>' && !inSubset) return parts.lastIndex
  }
  return undefined
}
