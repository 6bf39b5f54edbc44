/** The worker thread that extracts texts, one document at a time. */
import { parentPort } from 'node:worker_threads'
import { decoded, type WriteText } from './formats/decoding.js'
import { extractMarkup } from './formats/markup.js'
import { extractOffice } from './formats/office.js'
import { extractPdf } from './formats/pdf.js'
import { formatOf } from './media-types.js'

/** A document to read. */
export interface ExtractionTask {
  readonly content: Uint8Array
  readonly mediaType: string | undefined
  readonly name: string | undefined
  readonly charactersMax: number
  readonly inflatedBytesMax: number
  /** URL of a module that reads this media type; undefined: the built-in formats. */
  readonly module: string | undefined
}

/** The text, or the reason why there is none. */
export type ExtractionAnswer =
  | { readonly text: string; readonly isCut: boolean }
  | { readonly problem: string }

/** The exports of a module for a media type. */
export interface ExtractionModule {
  /** Calls `write` with the text in pieces. `write` throws when the text is long enough. */
  readonly extractText: (
    content: Uint8Array,
    write: WriteText,
    hint: { readonly mediaType: string | undefined; readonly name: string | undefined },
  ) => void | Promise<void>
}

async function extract(task: ExtractionTask, write: WriteText): Promise<void> {
  const { content, mediaType, name } = task
  if (task.module !== undefined) {
    const { extractText } = (await import(task.module)) as ExtractionModule
    await extractText(content, write, { mediaType, name })
    return
  }
  const format = formatOf(content, { mediaType, name })
  switch (format) {
    case 'text':
      for (const text of decoded(content, mediaType)) write(text)
      return
    case 'html':
    case 'xml':
      return extractMarkup(content, mediaType, format, write)
    case 'zip':
      return extractOffice(content, write, task.inflatedBytesMax)
    case 'pdf':
      return extractPdf(content, write)
    case undefined:
      throw new Error(`there is no text in a document of the type ${mediaType ?? 'unknown'}`)
  }
}

async function answer(task: ExtractionTask): Promise<ExtractionAnswer> {
  const parts: string[] = []
  let left = task.charactersMax
  let isCut = false
  const write: WriteText = (text) => {
    isCut ||= text.length > left
    // A surrogate pair is not split.
    const last = isCut && left > 0 ? text.charCodeAt(left - 1) : 0
    parts.push(text.slice(0, last >= 0xd800 && last <= 0xdbff ? left - 1 : left))
    left = Math.max(0, left - text.length)
    if (isCut) throw new Error('there is enough text')
  }
  try {
    await extract(task, write)
  } catch (error) {
    // An error of a text that is long enough may be one of a library around that of `write`.
    if (isCut) return { text: parts.join(''), isCut }
    const { code, message } = error as { code?: unknown; message?: unknown }
    if (code !== 'ERR_MODULE_NOT_FOUND') return { problem: String(message ?? error).slice(0, 500) }
    const name = /package '([^']+)'/.exec(String(message))?.[1] ?? String(message)
    return { problem: `a package is missing: ${name}` }
  }
  return { text: parts.join(''), isCut }
}

parentPort?.on('message', (task: ExtractionTask) => {
  void answer(task).then((done) => parentPort?.postMessage(done))
})
