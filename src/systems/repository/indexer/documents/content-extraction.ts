/** Extracts the text of blobs by a function of the program. */
import { shown } from '../../../../api/index.js'
import { repositoryError } from '../../errors.js'
import { eachValue } from '../../values/nested-types.js'
import { leafOf } from '../../schema/rule-checks.js'
import type { Blob } from '../../values/blob-value.js'
import type { IndexValue } from '../definition/configuration.js'
import type { IndexContext } from '../index-context.js'
import { tell } from '../../../../comfort/told.js'
import type { TextPlace } from './late-texts.js'
import { errorOf } from '../../thrown.js'

/**
 * Extracts the text of a blob. Media type and name are hints. On failure the document lacks the
 * field; the failure is stored with the index and reported to `onExtractionFailure`. The signal is
 * aborted when the index is closed; a failure after that is not recorded.
 */
export type ContentExtractor = (
  content: AsyncIterable<Uint8Array>,
  mediaType: string,
  name?: string,
  signal?: AbortSignal,
) => Promise<string>

/** Maximum length of an extracted text in characters; the rest is cut off. */
export const extractedCharactersMax = 500_000

/** A blob whose text could not be extracted. */
export interface FailedExtraction {
  /** Name of the file, if the blob has one. */
  readonly name?: string | undefined
  /** Media type of the blob. */
  readonly mediaType: string
  /** Size in bytes. */
  readonly size: number
  /** Message of the error, at most 500 characters. */
  readonly reason: string
  /** True while the extraction runs: the document is indexed again once the text is there. */
  readonly isPending?: true | undefined
}

const reasonLengthMax = 500

/**
 * Separates the blobs in values, at any depth of lists and paths, from the values without blobs.
 */
export function splitBlobs(values: readonly IndexValue[]): {
  readonly blobs: Blob[]
  readonly others: IndexValue[]
} {
  const blobs: Blob[] = []
  const others: IndexValue[] = []
  for (const each of values) {
    if (leafOf(each).base !== 'BLOB') others.push(each)
    else eachValue(each.type, each.value, (blob) => void blobs.push(blob as Blob))
  }
  return { blobs, others }
}

/** The text of each blob; a blob whose extraction fails is left out and added to `failures`. */
export async function extractTexts(
  blobs: readonly Blob[],
  place: TextPlace,
  { name: index, readBlob, settings, late, signal, counts }: IndexContext,
  failures: FailedExtraction[],
): Promise<string[]> {
  const texts: string[] = []
  const { extract, onExtractionFailure } = settings
  if (extract === undefined) return texts
  for (const blob of blobs) {
    const { key, name, mediaType, size } = blob
    try {
      const text = await late.textOf(place, key.toString('latin1'), async () => {
        const found: unknown = await extract(readBlob(blob), mediaType, name, signal)
        if (typeof found === 'string') return found
        throw repositoryError('extraction', `the extractor must give a text, got ${shown(found)}`)
      })
      if (text === undefined) {
        const reason = 'the text is still being read'
        failures.push({ name, mediaType, size, reason, isPending: true })
      } else if (text !== '') texts.push(text.slice(0, extractedCharactersMax))
    } catch (error) {
      if (signal.aborted) throw error
      const message = errorOf(error).message
      const reason = message.slice(0, reasonLengthMax)
      failures.push({ name, mediaType, size, reason })
      counts.extractionFailures++
      tell(onExtractionFailure, index, blob, error)
    }
  }
  return texts
}
