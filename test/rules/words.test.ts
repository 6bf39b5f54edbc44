/**
 * The words of comments, room by room. A comment names the thing: "what", "whoever", "somebody" and
 * their kin make the reader look for it. Each room has a ceiling of such words per 1,000 words of
 * comment. A ceiling is only ever lowered; below 2 a room is done.
 *
 * @runs alone
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { filesBelow, projectRoot } from './support.js'

const petWords = new RegExp(
  '\\b(what(ever)? (is|was|it|has|of|lies|comes|belongs|there)|whoever|whatever|somebody|nobody' +
    '|anybody|so many|goes on|at hand|told|tells? (the|its|whoever)' +
    '|behind (it|them|the|that|these|this)|the poorer|for want of)\\b',
  'gi',
)

/** Words per 1,000 words of comment; rooms that are not named may have {@link ceilingOfOthers}. */
const ceilings: Readonly<Record<string, number>> = {
  repository: 5.5,
}
const ceilingOfOthers = 2

/** A source file as text: comments need no syntax tree. */
interface Text {
  readonly path: string
  readonly text: string
}

const sources: readonly Text[] = filesBelow('src', (path) => path.endsWith('.ts')).map((path) => ({
  path,
  text: readFileSync(join(projectRoot, path), 'utf8'),
}))

interface Words {
  pets: number
  all: number
}

function countIn(file: Text): Words {
  const comments = (file.text.match(/\/\*[\s\S]*?\*\/|\/\/[^\n]*/g) ?? []).join('\n')
  return {
    pets: (comments.match(petWords) ?? []).length,
    all: comments.split(/\s+/).length,
  }
}

/** Pet words per 1,000 words of comment, by room: the folders of storage and systems, and those beside. */
function countsOf(files: readonly Text[]): Map<string, number> {
  const rooms = new Map<string, Words>()
  for (const file of files) {
    const parts = file.path.split('/')
    const room = parts[['storage', 'systems'].includes(parts[1]) ? 2 : 1]
    const sum = rooms.get(room) ?? { pets: 0, all: 0 }
    const { pets, all } = countIn(file)
    rooms.set(room, { pets: sum.pets + pets, all: sum.all + all })
  }
  return new Map([...rooms].map(([room, { pets, all }]) => [room, (1000 * pets) / all]))
}

function complaints(counts: ReadonlyMap<string, number>): string[] {
  return [...counts].flatMap(([room, count]) => {
    const ceiling = ceilings[room] ?? ceilingOfOthers
    return count > ceiling + 0.05 ? [`${room}: ${count.toFixed(1)} above ${ceiling}`] : []
  })
}

void t.test('no room has more pet words than its ceiling', async (t) => {
  t.strictSame(complaints(countsOf(sources)), [])
})

void t.test('a ceiling above 2 is not far above the count of its room', async (t) => {
  const counts = countsOf(sources)
  for (const [room, ceiling] of Object.entries(ceilings)) {
    const count = counts.get(room)
    if (count === undefined || ceiling <= ceilingOfOthers) continue
    t.ok(count > ceiling - 2, `${room} has ${count.toFixed(1)}: lower its ceiling of ${ceiling}`)
  }
})

void t.test('a planted comment is found', async (t) => {
  const text = '/** Tells whoever asks what is there. */\nexport const a = 1\n'
  t.strictSame(complaints(countsOf([{ path: 'src/storage/wal/a.ts', text }])), ['wal: 250.0 above 2'])
})
