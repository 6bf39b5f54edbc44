/** Lines of text that comes in pieces. */

/**
 * The lines, without their ends. The last one may lack its end. A line of many pieces is put
 * together once, so long lines take no more time for each byte than short ones.
 */
export async function* linesOf(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  let begun: string[] = []
  for await (const piece of pieces) {
    const [first, ...others] = piece.split('\n')
    begun.push(first)
    const last = others.pop()
    if (last === undefined) continue
    yield begun.join('')
    yield* others
    begun = [last]
  }
  const rest = begun.join('')
  if (rest !== '') yield rest
}
