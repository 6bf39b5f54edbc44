/** Extracts text from PDF documents with PDF.js. */
import type { WriteText } from './decoding.js'

/** The part of the package pdfjs-dist that is used. */
interface PdfModule {
  readonly getDocument: (source: object) => {
    readonly promise: Promise<PdfDocument>
    destroy(): Promise<void>
  }
}

interface PdfDocument {
  readonly numPages: number
  getPage(number: number): Promise<{
    getTextContent(): Promise<{ items: readonly { str?: string; hasEOL?: boolean }[] }>
    cleanup(): void
  }>
}

/** Writes the text of all pages in order. */
export async function extractPdf(content: Uint8Array, write: WriteText): Promise<void> {
  const name = 'pdfjs-dist/legacy/build/pdf.mjs'
  const { getDocument } = (await import(name)) as PdfModule
  const task = getDocument({
    data: content,
    verbosity: 0,
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
  })
  try {
    const document = await task.promise
    for (let number = 1; number <= document.numPages; number++) {
      const page = await document.getPage(number)
      const { items } = await page.getTextContent()
      for (const { str, hasEOL } of items) {
        write(str ?? '')
        if (hasEOL === true) write('\n')
      }
      write('\n')
      page.cleanup()
    }
  } finally {
    await task.destroy()
  }
}
