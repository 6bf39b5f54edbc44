/** The documents of the suite: the same for every engine, made from a seed. */
import { createHash } from 'node:crypto'

/** A document; every engine keeps it as one record. */
export interface BenchDocument {
  readonly id: string
  readonly title: string
  readonly body: string
  readonly year: number
  readonly score: number
  readonly tags: readonly string[]
  readonly author: string
  readonly counter: number
}

const wordCount = 5000
const authors = 100

/** Numbers in [0, 1) that repeat for a seed. */
export function numbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return state / 0x1_0000_0000
  }
}

const syllables = ['ba', 'ce', 'di', 'fo', 'gu', 'ka', 'le', 'mi', 'no', 'ru', 'sa', 'te', 'vi']

/** The word of a number; frequent words have small numbers. */
export function wordOf(index: number): string {
  let word = ''
  for (let rest = index + 1; rest > 0; rest = Math.floor(rest / syllables.length)) {
    word += syllables[rest % syllables.length]
  }
  return word
}

/** The id of a document. */
export function idOf(index: number): string {
  return `doc-${String(index).padStart(7, '0')}`
}

/** The document of a number. */
export function documentOf(index: number): BenchDocument {
  const random = numbers(index + 1)
  for (let i = 0; i < 3; i++) random()
  // Few words are frequent, most are rare.
  const word = (): string => wordOf(Math.floor(wordCount ** random()) - 1)
  const words = (count: number): string => Array.from({ length: count }, word).join(' ')
  return {
    id: idOf(index),
    title: words(5),
    body: words(30),
    year: 1900 + Math.floor(random() * 120),
    score: Math.floor(random() * 1000) / 8,
    tags: [word(), word(), word()],
    author: `author-${Math.floor(random() * authors)}`,
    counter: 0,
  }
}

/** What all engines must say of a document, in few bytes. */
export function digestOf(documents: readonly (BenchDocument | undefined)[]): string {
  const hash = createHash('sha256')
  for (const document of documents) {
    if (document === undefined) hash.update('none')
    else {
      const { id, title, body, year, score, tags, author, counter } = document
      hash.update(JSON.stringify([id, title, body, year, score, tags, author, counter]))
    }
  }
  return hash.digest('hex').slice(0, 16)
}
