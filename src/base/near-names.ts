/** The known name that a caller probably meant by an unknown one. */

/** Words of other stores and of HBase for options of Cellar, in small letters. */
const otherWords: Readonly<Record<string, readonly string[]>> = {
  after: ['page', 'startRow', 'startKey', 'fromSequence'],
  attempts: ['attemptsMax'],
  attributes: ['columns'],
  callback: ['apply'],
  cursor: ['page'],
  desc: ['descending', 'reversed'],
  descending: ['reversed'],
  each: ['apply'],
  end: ['stopRow', 'stopKey'],
  endrow: ['stopRow', 'stopKey'],
  expires: ['ttlMilliseconds'],
  expiresin: ['ttlMilliseconds'],
  fields: ['columns'],
  from: ['startRow', 'startKey', 'fromSequence'],
  gt: ['startRow', 'startKey'],
  gte: ['startRow', 'startKey'],
  handler: ['apply'],
  id: ['row'],
  key: ['row'],
  lt: ['stopRow', 'stopKey'],
  lte: ['stopRow', 'stopKey'],
  maxage: ['ttlMilliseconds'],
  maxretries: ['attemptsMax'],
  maxversions: ['versions'],
  next: ['page'],
  offset: ['page'],
  order: ['reversed'],
  orderby: ['reversed'],
  pagesize: ['limit'],
  retries: ['attemptsMax'],
  reverse: ['reversed'],
  rowkey: ['row'],
  select: ['columns'],
  since: ['fromSequence', 'from'],
  skip: ['page'],
  start: ['startRow', 'startKey'],
  stop: ['stopRow', 'stopKey'],
  take: ['limit'],
  to: ['stopRow', 'stopKey', 'toSequence'],
  token: ['page'],
  top: ['limit'],
  ttl: ['ttlMilliseconds'],
  type: ['encoding'],
  until: ['toSequence', 'stopRow', 'stopKey'],
  untilcaughtup: ['toSequence'],
  value: ['value', 'cells'],
  values: ['cells'],
  where: ['filter', 'prefix'],
}

/** Names longer than this are not compared. */
const lengthMax = 64

/**
 * The known name that a name resembles: at most two letters differ, or one in three; undefined if
 * there is none.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  if (name.length > lengthMax) return undefined
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(name.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(name.toLowerCase(), candidate.toLowerCase())
    if (distance >= bestDistance || distance >= candidate.length) continue
    best = candidate
    bestDistance = distance
  }
  return best
}

/** As {@link nearestName}, and also what the name means elsewhere, or is the beginning of. */
export function meantName(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase()
  const words = Object.hasOwn(otherWords, lower) ? otherWords[lower] : []
  const word = words.find((each) => known.includes(each))
  if (word !== undefined) return word
  const near = nearestName(name, known)
  if (near !== undefined || lower.length < 3) return near
  return known.find((each) => each.toLowerCase().startsWith(lower))
}

/**
 * Edit distance: letters to insert, remove, replace or swap with a neighbour to turn `a` into `b`.
 */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const cost = a[i - 1] === b[j - 1] ? 0 : 1
      let distance = Math.min(last[j] + 1, row[j - 1] + 1, last[j - 1] + cost)
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) {
        distance = Math.min(distance, before[j - 2] + 1)
      }
      row.push(distance)
    }
    before = last
    last = row
  }
  return last[b.length]
}
