/**
 * Extracts the text of blobs by a function of the program.
 *
 * A document does not wait for a late text. The document is indexed without that text, which is
 * noted as missing, and the record is indexed again once the text is extracted. So a slow document
 * does not delay others.
 */
import { setTimeout } from 'node:timers/promises'
import { shown } from '../../../../api/index.js'
import { repositoryError } from '../../errors.js'
import { eachValue } from '../../values/nested-types.js'
import { leafOf } from '../../schema/type-contents.js'
import type { Blob } from '../../values/blob-value.js'
import type { IndexValue } from '../definition/configuration.js'
import type { IndexContext } from '../index-context.js'
import { tell } from '../../../../comfort/told.js'
import { errorOf } from '../../thrown.js'
import { placeKey, type Place } from '../index-rows.js'

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
const extractedCharactersMax = 500_000

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
  place: Place,
  deadline: number,
  { name: index, readBlob, settings, late, signal, counts }: IndexContext,
  failures: FailedExtraction[],
): Promise<string[]> {
  const texts: string[] = []
  const { extract, onExtractionFailure } = settings
  if (extract === undefined) return texts
  for (const blob of blobs) {
    const { key, name, mediaType, size } = blob
    try {
      const text = await late.textOf(place, deadline, key.toString('latin1'), async () => {
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

interface LateText {
  readonly text: Promise<string>
  isSettled: boolean
}

interface LateRecord {
  readonly place: Place
  /** Texts by the key of the blob. */
  readonly texts: Map<string, LateText>
  /** Resolves when the record has been indexed with them. */
  readonly done: Promise<void>
}

/** Maximum number of late texts over all records; above it documents wait for their texts. */
const textsMax = 64

/** The late texts of one index. */
export class LateTexts {
  readonly #milliseconds: number
  readonly #again: (place: Place) => Promise<unknown>
  readonly #signal: AbortSignal
  readonly #records = new Map<string, LateRecord>()

  /**
   * A document waits so many milliseconds for all its texts together; `again` indexes a record
   * again. The signal is aborted when the index is closed.
   */
  constructor(
    milliseconds: number,
    again: (place: Place) => Promise<unknown>,
    signal: AbortSignal,
  ) {
    this.#milliseconds = milliseconds
    this.#again = again
    this.#signal = signal
  }

  deadline(): number {
    return performance.now() + this.#milliseconds
  }

  /**
   * The text of a blob; undefined while the text is late, that is after the deadline. A late text
   * is extracted only once.
   */
  async textOf(
    place: Place,
    deadline: number,
    blob: string,
    extract: () => Promise<string>,
  ): Promise<string | undefined> {
    const known = this.#records.get(placeKey(place))?.texts.get(blob)
    if (known !== undefined) return known.isSettled ? known.text : undefined
    const text = extract()
    let count = 0
    for (const { texts } of this.#records.values()) count += texts.size
    if (count >= textsMax) return text
    const timer = new AbortController()
    const { signal } = timer
    const late = setTimeout(Math.max(0, deadline - performance.now()), true, { signal })
    const inTime = text.then(
      () => false,
      () => false,
    )
    const isLate = await Promise.race([inTime, late])
    timer.abort()
    if (!isLate) return text
    this.#add(place, blob, text)
    return undefined
  }

  /** Resolves when the record has been indexed with its late texts; undefined if there are none. */
  of(place: Place): Promise<void> | undefined {
    return this.#records.get(placeKey(place))?.done
  }

  /** Resolves when no text is late. */
  async settled(): Promise<void> {
    while (this.#records.size > 0) {
      await Promise.all([...this.#records.values()].map(({ done }) => done))
    }
  }

  #add(place: Place, blob: string, text: Promise<string>): void {
    const late: LateText = { text, isSettled: false }
    void text.catch(() => undefined).then(() => (late.isSettled = true))
    const key = placeKey(place)
    const known = this.#records.get(key)
    if (known !== undefined) {
      known.texts.set(blob, late)
      return
    }
    const texts = new Map([[blob, late]])
    this.#records.set(key, { place, texts, done: this.#finish(key, place, texts) })
  }

  async #finish(key: string, place: Place, texts: ReadonlyMap<string, LateText>): Promise<void> {
    const open = (): LateText[] => [...texts.values()].filter(({ isSettled }) => !isSettled)
    // Indexing the record may find another blob with a late text.
    do {
      while (open().length > 0) await Promise.allSettled(open().map(({ text }) => text))
      // After a failure the record keeps its note; the next start of the index retries.
      if (!this.#signal.aborted) await this.#again(place).catch(() => undefined)
    } while (open().length > 0)
    this.#records.delete(key)
  }
}
