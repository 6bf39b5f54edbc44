/**
 * Texts that a document does not wait for. The document is indexed without them, and they are noted
 * as missing. Once they are extracted, the record is indexed again. So a slow document does not
 * delay others.
 */
import { setTimeout } from 'node:timers/promises'
import { placeKey, type Place } from '../index-rows.js'

/** The dependencies of {@link LateTexts}. */
export interface LateTextsParts {
  /** Milliseconds that a document waits for all its texts together. */
  readonly milliseconds: number
  /** Indexes a record again. */
  readonly again: (place: Place) => Promise<unknown>
  /** Aborted when the index is closed. */
  readonly signal: AbortSignal
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

/** The document that a text belongs to. */
export interface TextPlace {
  readonly place: Place
  /** See {@link LateTexts.deadline}. */
  readonly deadline: number
}

/** Maximum number of late texts over all records; above it documents wait for their texts. */
const textsMax = 64

/** The late texts of one index. */
export class LateTexts {
  readonly #parts: LateTextsParts
  readonly #records = new Map<string, LateRecord>()

  constructor(parts: LateTextsParts) {
    this.#parts = parts
  }

  /** The time until which one document waits for its texts, as `performance.now()` counts. */
  deadline(): number {
    return performance.now() + this.#parts.milliseconds
  }

  /**
   * The text of a blob; undefined while the text is late, that is after the deadline. A late text
   * is extracted only once.
   */
  async textOf(
    { place, deadline }: TextPlace,
    blob: string,
    extract: () => Promise<string>,
  ): Promise<string | undefined> {
    const known = this.#records.get(placeKey(place))?.texts.get(blob)
    if (known !== undefined) return known.isSettled ? known.text : undefined
    const text = extract()
    if (this.#count >= textsMax) return text
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

  get #count(): number {
    let count = 0
    for (const { texts } of this.#records.values()) count += texts.size
    return count
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
    const { again, signal } = this.#parts
    const open = (): LateText[] => [...texts.values()].filter(({ isSettled }) => !isSettled)
    // Indexing the record may find another blob with a late text.
    do {
      while (open().length > 0) await Promise.allSettled(open().map(({ text }) => text))
      // After a failure the record keeps its note; the next start of the index retries.
      if (!signal.aborted) await again(place).catch(() => undefined)
    } while (open().length > 0)
    this.#records.delete(key)
  }
}
