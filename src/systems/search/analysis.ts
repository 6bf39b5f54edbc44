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

/** Class of each ASCII character: 0 no part of a word, 1 letter, 2 digit, 3 underscore. */
const asciiKinds = new Uint8Array(128)
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code)
  if (/[a-z]/.test(character)) asciiKinds[code] = 1
  else if (/[0-9]/.test(character)) asciiKinds[code] = 2
  else if (character === '_') asciiKinds[code] = 3
}

/** The words of a text, in order. */
export function wordsOf(text: string): string[] {
  const words: string[] = []
  if (plainAscii.test(text)) addAsciiWords(text.toLowerCase(), words)
  else {
    for (const [word] of text.normalize('NFKC').toLowerCase().matchAll(unicodeWord)) {
      addWord(word, words)
    }
  }
  return words
}

/**
 * The words of a text, grouped: words with no character between them form one group. These are the
 * characters of a script without spaces, or the parts of a word above {@link wordLengthMax}.
 */
export function adjacentWords(text: string): string[][] {
  if (plainAscii.test(text) && text.length <= wordLengthMax)
    return wordsOf(text).map((each) => [each])
  const runs: string[][] = []
  let end = -1
  for (const { 0: word, index } of text.normalize('NFKC').toLowerCase().matchAll(unicodeWord)) {
    const parts: string[] = []
    addWord(word, parts)
    if (index === end) runs[runs.length - 1].push(...parts)
    else runs.push(parts)
    end = index + word.length
  }
  return runs
}

/** Normalizes the prefix of a word as the index normalizes words. */
export function foldedPrefix(text: string): string {
  return text.normalize('NFKC').toLowerCase()
}

function addAsciiWords(text: string, words: string[]): void {
  const kindAt = (at: number): number => (at < text.length ? asciiKinds[text.charCodeAt(at)] : 0)
  let start = -1
  for (let at = 0; at <= text.length; at++) {
    if (kindAt(at) !== 0) {
      if (start < 0) start = at
      continue
    }
    if (start < 0) continue
    const character = text[at]
    const before = kindAt(at - 1)
    const isJoint =
      (character === "'" && before === 1) ||
      ((character === '.' || character === ',') && before === 2)
    if (isJoint && kindAt(at + 1) === before) continue
    addWord(text.slice(start, at), words)
    start = -1
  }
}

function addWord(word: string, words: string[]): void {
  if (word.length <= wordLengthMax) words.push(word)
  else {
    for (let at = 0; at < word.length; at += wordLengthMax) {
      words.push(word.slice(at, at + wordLengthMax))
    }
  }
}
