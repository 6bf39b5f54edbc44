/** Detects the format of a document by its media type, its name and its first bytes. */

/** Formats whose text can be extracted without further modules. */
export type DocumentFormat = 'text' | 'html' | 'xml' | 'pdf' | 'zip'

/** Hints about a document in addition to its bytes. */
export interface DocumentHint {
  /** Media type, for instance `text/html; charset=utf-8`. */
  readonly mediaType?: string | undefined
  /** File name, for instance `report.pdf`. */
  readonly name?: string | undefined
}

const byMediaType: Readonly<Record<string, DocumentFormat>> = {
  'application/json': 'text',
  'application/javascript': 'text',
  'application/x-yaml': 'text',
  'text/html': 'html',
  'application/xhtml+xml': 'html',
  'text/xml': 'xml',
  'application/xml': 'xml',
  'application/pdf': 'pdf',
  'application/epub+zip': 'zip',
}

const byEnding: Readonly<Record<string, DocumentFormat>> = Object.fromEntries(
  (
    [
      ['text', 'txt csv tsv md json'],
      ['html', 'html htm xhtml'],
      ['xml', 'xml'],
      ['pdf', 'pdf'],
      ['zip', 'docx xlsx pptx odt ods odp epub'],
    ] as const
  ).flatMap(([format, endings]) => endings.split(' ').map((ending) => [ending, format])),
)

/** The media type without parameters, in lower case; empty if absent. */
export function plainMediaType(mediaType: string | undefined): string {
  return (mediaType ?? '').split(';')[0].trim().toLowerCase()
}

/** The format of a document; undefined if unknown. */
export function formatOf(content: Uint8Array, hint: DocumentHint): DocumentFormat | undefined {
  // The first bytes are trusted more than the declared type.
  const begin = Buffer.from(content.buffer, content.byteOffset, Math.min(content.length, 1024))
  if (begin.subarray(0, 4).equals(Buffer.from('PK\x03\x04', 'latin1'))) return 'zip'
  if (begin.subarray(0, 5).equals(Buffer.from('%PDF-'))) return 'pdf'
  // The container of the older Office formats: not supported, even if declared as another type.
  if (begin.subarray(0, 4).equals(Buffer.from([0xd0, 0xcf, 0x11, 0xe0]))) return undefined
  const mediaType = plainMediaType(hint.mediaType)
  const named = Object.hasOwn(byMediaType, mediaType) ? byMediaType[mediaType] : undefined
  if (named === 'text' || named === 'html' || named === 'xml') return named
  if (mediaType.startsWith('text/')) return 'text'
  if (mediaType.endsWith('+xml')) return 'xml'
  if (named !== undefined) return named
  const isGeneric = mediaType === '' || mediaType === 'application/octet-stream'
  const ending = /\.([a-z]+)$/i.exec(hint.name ?? '')?.[1].toLowerCase() ?? ''
  return isGeneric && Object.hasOwn(byEnding, ending) ? byEnding[ending] : undefined
}
