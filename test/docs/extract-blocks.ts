/**
 * Finds the TypeScript programs in Markdown pages. The rules for authors stand in
 * docs/CONTRIBUTING.md, under "Code blocks".
 */

/** One fenced block of a page, as a program. */
export interface Block {
  /** Path of the page, relative to the project. */
  readonly page: string
  /** Line of the page that opens the fence, from 1. */
  readonly line: number
  /** The program: the block behind those that it continues. */
  readonly text: string
  /** Lines of {@link text} in front of the block itself. */
  readonly linesBefore: number
  /** Why the block is type-checked but not run; undefined = it is run. */
  readonly notRun: string | undefined
  /** Lines that the program must print, in this order. */
  readonly prints: readonly string[]
}

const opening = /^(\s*)(`{3,}|~{3,})\s*(\S*)\s*(.*)$/
const expectation = /\/\/ prints (.+)$/

/**
 * The TypeScript blocks of a page in order. Throws for a block that continues nothing, and for a
 * word behind the language that means nothing.
 */
export function extractBlocks(page: string, markdown: string): Block[] {
  const lines = markdown.split('\n')
  const blocks: Block[] = []
  for (let at = 0; at < lines.length; at++) {
    const [matched, indent, fence, language, words] = opening.exec(lines[at]) ?? []
    if (matched === undefined) continue
    const first = at + 1
    while (++at < lines.length && lines[at].trim() !== fence);
    if (language !== 'ts' && language !== 'typescript') continue
    const own = lines.slice(first, at).map((line) => line.slice(indent.length))
    blocks.push(blockOf(page, first, own, words, blocks.at(-1)))
  }
  return blocks
}

function blockOf(
  page: string,
  line: number,
  own: readonly string[],
  words: string,
  previous: Block | undefined,
): Block {
  const place = `${page}:${line}`
  const notRun = /^not run: (.+)$/.exec(words)?.[1]
  const continues = words === 'continued'
  if (words !== '' && !continues && notRun === undefined) {
    throw new Error(`${place} says '${words}', which is neither 'continued' nor 'not run: reason'`)
  }
  if (continues && previous === undefined) throw new Error(`${place} continues nothing`)
  const before = continues ? previous!.text.split('\n') : []
  const all = [...before, ...own]
  return {
    page,
    line,
    text: all.join('\n'),
    linesBefore: before.length,
    notRun: continues ? previous!.notRun : notRun,
    prints: all.flatMap((text) => expectation.exec(text)?.[1].trimEnd() ?? []),
  }
}

/** A whole file as a block. */
export function exampleOf(page: string, text: string): Block {
  const prints = text.split('\n').flatMap((line) => expectation.exec(line)?.[1].trimEnd() ?? [])
  return { page, line: 1, text, linesBefore: 0, notRun: undefined, prints }
}

/** The first expected line that the output lacks, in this order; undefined if none is missing. */
export function missingLine(prints: readonly string[], output: string): string | undefined {
  const lines = output.split('\n').map((line) => line.trimEnd())
  let from = 0
  for (const expected of prints) {
    const found = lines.indexOf(expected, from)
    if (found < 0) return expected
    from = found + 1
  }
  return undefined
}
