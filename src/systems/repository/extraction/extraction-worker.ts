/** The worker thread that extracts texts, one document at a time. */
import { parentPort } from 'node:worker_threads'
import { decoded } from './formats/decoding.js'
import { extractMarkup } from './formats/markup.js'
import { extractOffice } from './formats/office.js'
import { extractPdf } from './formats/pdf.js'
import { formatOf } from './media-types.js'
import { EnoughText, TextSink } from './text-sink.js'

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
  /** `isPackageMissing`: the thread cannot import the package, even if installed later. */
  | { readonly problem: string; readonly isPackageMissing: boolean }

/** The exports of a module for a media type. */
export interface ExtractionModule {
  /** Calls `write` with the text in pieces. `write` throws when the text is long enough. */
  readonly extractText: (
    content: Uint8Array,
    write: (text: string) => void,
    hint: { readonly mediaType: string | undefined; readonly name: string | undefined },
  ) => void | Promise<void>
}

async function extract(task: ExtractionTask, sink: TextSink): Promise<void> {
  const { content, mediaType, name } = task
  if (task.module !== undefined) {
    const { extractText } = (await import(task.module)) as ExtractionModule
    await extractText(content, (text) => sink.write(text), { mediaType, name })
    return
  }
  const format = formatOf(content, { mediaType, name })
  switch (format) {
    case 'text':
      for (const text of decoded(content, mediaType)) sink.write(text)
      return
    case 'html':
    case 'xml':
      return extractMarkup(content, mediaType, format, sink)
    case 'zip':
      return extractOffice(content, sink, task.inflatedBytesMax)
    case 'pdf':
      return extractPdf(content, sink)
    case undefined:
      throw new Error(`there is no text in a document of the type ${mediaType ?? 'unknown'}`)
  }
}

async function answer(task: ExtractionTask): Promise<ExtractionAnswer> {
  const sink = new TextSink(task.charactersMax)
  try {
    await extract(task, sink)
  } catch (error) {
    // A library may wrap the error of a full sink in an error of its own.
    if (!(error instanceof EnoughText) && !sink.isCut) return failureOf(error)
  }
  return { text: sink.text(), isCut: sink.isCut }
}

function failureOf(error: unknown): ExtractionAnswer {
  const { code, message } = error as { code?: unknown; message?: unknown }
  if (code === 'ERR_MODULE_NOT_FOUND') {
    const name = /package '([^']+)'/.exec(String(message))?.[1] ?? String(message)
    return { problem: `a package is missing: ${name}`, isPackageMissing: true }
  }
  return { problem: String(message ?? error).slice(0, 500), isPackageMissing: false }
}

parentPort?.on('message', (task: ExtractionTask) => {
  void answer(task).then((done) => parentPort?.postMessage(done))
})
