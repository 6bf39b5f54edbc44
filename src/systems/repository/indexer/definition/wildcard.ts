/** Patterns of names with `*` at the beginning or at the end. */

/** A pattern; a `*` elsewhere, or behind a first one, is a plain character. */
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

  /** What stands for the `*`, '' without one; undefined if the name does not match. */
  match(name: string): string | undefined {
    const text = this.#text
    if (this.#kind === 'exact') return name === text ? '' : undefined
    if (this.#kind === 'prefix') return name.startsWith(text) ? name.slice(text.length) : undefined
    return name.endsWith(text) ? name.slice(0, name.length - text.length) : undefined
  }
}
