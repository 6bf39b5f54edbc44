/** Name patterns with a `*` at the beginning or the end. */

/** A name pattern; a `*` elsewhere, or a second one, is a literal character. */
export class WildcardPattern {
  readonly #kind: 'exact' | 'prefix' | 'suffix'
  readonly #text: string

  constructor(pattern: string) {
    if (pattern.startsWith('*')) {
      this.#kind = 'suffix'
      this.#text = pattern.slice(1)
    } else if (pattern.endsWith('*')) {
      this.#kind = 'prefix'
      this.#text = pattern.slice(0, -1)
    } else {
      this.#kind = 'exact'
      this.#text = pattern
    }
  }

  get hasWildcard(): boolean {
    return this.#kind !== 'exact'
  }

  /** The text matched by the `*`, '' without one; undefined if the name does not match. */
  match(name: string): string | undefined {
    const text = this.#text
    if (this.#kind === 'exact') return name === text ? '' : undefined
    if (this.#kind === 'prefix') return name.startsWith(text) ? name.slice(text.length) : undefined
    return name.endsWith(text) ? name.slice(0, name.length - text.length) : undefined
  }
}
