/** Collects the text of a document up to a number of characters. */

/** Ends the reading of a document: the text is long enough. */
export class EnoughText extends Error {
  constructor() {
    super('there is enough text')
  }
}

/** Collects text; throws {@link EnoughText} when it is full. */
export class TextSink {
  readonly #charactersMax: number
  readonly #parts: string[] = []
  #length = 0
  #isCut = false

  constructor(charactersMax: number) {
    this.#charactersMax = charactersMax
  }

  /** Whether there was more text than fits. */
  get isCut(): boolean {
    return this.#isCut
  }

  write(text: string): void {
    const left = this.#charactersMax - this.#length
    if (text.length <= left) {
      if (text === '') return
      this.#parts.push(text)
      this.#length += text.length
      return
    }
    // A surrogate pair is not split.
    const end = left > 0 && isHighSurrogate(text.charCodeAt(left - 1)) ? left - 1 : left
    this.#parts.push(text.slice(0, end))
    this.#length = this.#charactersMax
    this.#isCut = true
    throw new EnoughText()
  }

  /** The text so far. */
  text(): string {
    return this.#parts.join('')
  }
}

function isHighSurrogate(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff
}
