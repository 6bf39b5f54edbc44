/** Extracts text from PDF documents with PDF.js. */
import type * as PdfJs from 'pdfjs-dist'
import type { WriteText } from './decoding.js'

/** Writes the text of all pages in order. */
export async function extractPdf(content: Uint8Array, write: WriteText): Promise<void> {
  const name = 'pdfjs-dist/legacy/build/pdf.mjs'
  const { getDocument } = (await import(name)) as typeof PdfJs
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
      for (const item of items) {
        if ('str' in item) write(item.hasEOL ? `${item.str}\n` : item.str)
      }
      write('\n')
      page.cleanup()
    }
  } finally {
    await task.destroy()
  }
}
