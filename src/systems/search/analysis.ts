/**
 * Splits a text into words: runs of letters and digits, in lower case and NFKC form.
 *
 * An apostrophe between letters, and a dot or comma between digits, do not end a word. In scripts
 * that are written without spaces each character is a word.
 */

/** Maximum length of a word in characters; a longer one is cut into several, as in Lucene. */
export const wordLengthMax = 255

const plainAscii = /^[\0-\x7f]*$/
const single = '[\\p{sc=Han}\\p{sc=Hiragana}\\p{sc=Thai}\\p{sc=Lao}\\p{sc=Khmer}\\p{sc=Myanmar}]'
const part = `(?:(?!${single})[\\p{L}\\p{N}\\p{M}_])+`
const joint = "(?:(?<=\\p{L})['’](?=\\p{L})|(?<=\\p{N})[.,](?=\\p{N}))"
const unicodeWord = new RegExp(`${single}\\p{M}*|${part}(?:${joint}${part})*`, 'gu')

/** The same for ASCII, faster. */
const asciiWord = /[a-z0-9_]+(?:(?:(?<=[a-z])'(?=[a-z])|(?<=[0-9])[.,](?=[0-9]))[a-z0-9_]+)*/g

/** The words of a text, in order. */
export function wordsOf(text: string): string[] {
  const words = plainAscii.test(text)
    ? text.toLowerCase().match(asciiWord)
    : foldedPrefix(text).match(unicodeWord)
  if (words === null) return []
  const isLong = words.some(({ length }) => length > wordLengthMax)
  return isLong ? words.flatMap(partsOf) : words
}

/**
 * The words of a text, grouped: words with no character between them form one group. These are the
 * characters of a script without spaces, or the parts of a word above {@link wordLengthMax}.
 */
export function adjacentWords(text: string): string[][] {
  const runs: string[][] = []
  let end = -1
  for (const { 0: word, index } of foldedPrefix(text).matchAll(unicodeWord)) {
    if (index === end) runs[runs.length - 1].push(...partsOf(word))
    else runs.push(partsOf(word))
    end = index + word.length
  }
  return runs
}

/** Normalizes the prefix of a word as the index normalizes words. */
export function foldedPrefix(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

/** A word, cut into parts of at most {@link wordLengthMax} characters. */
function partsOf(word: string): string[] {
  const parts: string[] = []
  for (let at = 0; at < word.length; at += wordLengthMax) {
    parts.push(word.slice(at, at + wordLengthMax))
  }
  return parts
}
