/**
 * Searches of principals beside a model: random rules, records with records and links inside,
 * version tags, new names of field types, other configurations, builds, and new starts.
 *
 * Every word says which field it is a value of. So at any moment no search may find by a word of a
 * field that the principal may not read; and after a build the hits are those of an evaluation of
 * the configuration over the readable fields alone.
 *
 * @runs campaign
 */
import t from 'tap'
import { seededRandom, type Random } from '../../../src/base/random.js'
import { MemoryFileSystem } from '../../../src/entries/index.js'
import { Link, type RecordTable } from '../../../src/systems/repository/index.js'
import type { AccessRule, Principal } from '../../../src/server/index.js'
import { lengthOf } from '../../helpers/length.js'
import { FieldNames } from '../../../src/systems/repository/http/field-names.js'
import { SearchAccess } from '../../../src/systems/repository/http/search-access.js'
import { serveRepository, type ServedRepository } from './served-repository.js'

const seed = Number(process.env['CELLAR_SEED'] ?? 20261123)
const tables = ['record', 'other']
const tags = ['last', 'live', 'draft']
/** Fields by the name that they are created with. */
const texts = ['a', 'b', 'c', 'd'] as const
const fieldTypes = [
  ...texts.map((name) => [name, 'STRING', name < 'c' ? 'VERSIONED' : 'NON_VERSIONED'] as const),
  ['box', 'RECORD<{n}page>', 'VERSIONED'],
  ['boxes', 'LIST<RECORD>', 'NON_VERSIONED'],
  ['to', 'LINK', 'NON_VERSIONED'],
] as const
type Values = Readonly<Record<string, unknown>>

/** What a principal reads, by the names that the fields were created with. */
interface Model {
  readonly principal: Principal
  readonly reads: (table: string, field: string) => boolean
}

function oneOf<T>(random: Random, list: readonly T[]): T {
  return list[Math.floor(random() * list.length)]
}

function randomModel(random: Random, name: string): Model {
  const some = (): string[] => [...texts, 'box', 'boxes', 'to'].filter(() => random() < 0.3)
  const named = (fields: readonly string[]): string[] => fields.map((field) => `{n}${field}`)
  const rules = Array.from({ length: 1 + Math.floor(random() * 2) }, () => {
    const table = random() < 0.5 ? undefined : oneOf(random, tables)
    const hidden = some().slice(0, 2)
    const tag = random() < 0.3 ? [oneOf(random, ['live', 'draft'])] : []
    const tagNames = tag.map((local) => `{org.lilyproject.vtag}${local}`)
    const isAll = random() < 0.2
    const isList = random() < 0.2
    const shown = [...texts, 'box', 'to']
    const read = isAll
      ? true
      : isList
        ? { fields: [...named(shown), '{org.lilyproject.vtag}*'], except: tagNames }
        : { except: [...named(hidden), ...tagNames] }
    const reads = (field: string): boolean => {
      if (isAll) return true
      if (tag.includes(field)) return false
      return isList ? [...shown, 'live', 'draft'].includes(field) : !hidden.includes(field)
    }
    const rule: AccessRule = table === undefined ? { read } : { table, read }
    return { rule, reads, table }
  })
  return {
    principal: {
      name,
      token: `token-of-${name}`,
      search: ['index'],
      rules: rules.map(({ rule }) => rule),
    },
    reads: (table, field) => {
      return rules.some((rule) => (rule.table ?? table) === table && rule.reads(field))
    },
  }
}

interface World {
  readonly random: Random
  served: ServedRepository
  /** The name of each field now. */
  readonly names: Map<string, string>
  readonly ids: readonly string[]
  words: number
}

const nameOf = ({ names }: World, field: string): string => `{n}${names.get(field)!}`

function inner(world: World, depth = 0): unknown {
  const { random } = world
  const fields: Record<string, unknown> = {}
  for (const field of texts) {
    if (random() < 0.4) fields[nameOf(world, field)] = word(world, field)
  }
  if (depth < 1 && random() < 0.3) fields[nameOf(world, 'box')] = inner(world, depth + 1)
  return { type: '{n}page', fields }
}

function word(world: World, field: string): string {
  return `${field}x${Math.floor(world.random() * 3)}`
}

function randomFields(world: World): Record<string, unknown> {
  const { random, ids } = world
  const fields: Record<string, unknown> = { [nameOf(world, 'd')]: word(world, 'd') }
  for (const field of texts) {
    if (random() < 0.5) fields[nameOf(world, field)] = word(world, field)
  }
  if (random() < 0.4) fields[nameOf(world, 'box')] = inner(world)
  if (random() < 0.3) fields[nameOf(world, 'boxes')] = [inner(world), inner(world)]
  if (random() < 0.4) {
    fields[nameOf(world, 'to')] = Link.to(oneOf(random, ids), oneOf(random, [...tables, 'record']))
  }
  return fields
}

/** The fields of documents, with what each is a text of: own fields, those inside, those linked. */
const rules = ['own', 'whole', 'part', 'linked', 'inside', 'marked', 'plain'] as const
type Rule = (typeof rules)[number]

function configurationOf(
  world: World,
  mark: string,
): { fields: unknown[]; [name: string]: unknown } {
  const n = (field: string): string => nameOf(world, field)
  return {
    recordFilter: { includes: [{ versionTags: tags }] },
    fields: [
      { name: 'own_t', value: n('a') },
      { name: 'whole_t', value: n('box') },
      { name: 'part_t', value: `${n('box')}=>${n('b')}` },
      { name: 'linked_t', value: `${n('to')}=>${n('c')}` },
      { name: 'inside_t', value: `${n('to')}=>${n('boxes')}` },
      {
        match: { field: { name: n('d'), equals: mark } },
        fields: [{ name: 'marked_t', value: n('c') }],
      },
    ],
    dynamicFields: [
      { matchNamespace: 'n', matchName: '*', matchType: 'STRING', name: 'dyn_${name}_t' },
    ],
  }
}

/** Words of a field of documents, out of the fields that `reads` allows; hidden ones are absent. */
async function wordsOf(
  world: World,
  rule: Rule,
  place: {
    readonly table: string
    readonly id: string
    readonly tag: string
    readonly mark: string
  },
  reads: Model['reads'],
): Promise<string[]> {
  const keys = new Map([...world.names].map(([field, name]) => [`{n}${name}`, field]))
  const { table, id, tag, mark } = place
  const read = async (of: string, at: string): Promise<Values | undefined> => {
    const records = world.served.manager.repository().table(of)
    const name = `{org.lilyproject.vtag}${tag}`
    const record = await records.readTagged(at, name).catch(() => undefined)
    if (record === undefined) return undefined
    return shown(of, record.fields)
  }
  const shown = (of: string, fields: Values): Values => {
    return Object.fromEntries(
      Object.entries(fields).flatMap(([name, value]) => {
        const field = keys.get(name)
        return field === undefined || !reads(of, field) ? [] : [[field, value] as const]
      }),
    )
  }
  const within = (of: string, value: unknown): string[] => {
    if (value === undefined) return []
    if (typeof value === 'string') return [value]
    if (Array.isArray(value)) return value.flatMap((each) => within(of, each))
    return Object.values(shown(of, (value as { fields: Values }).fields)).flatMap((each) => {
      return within(of, each)
    })
  }
  const own = await read(table, id)
  if (own === undefined) return []
  const link = own['to'] as Link | undefined
  const target = link?.table ?? table
  const behind = link === undefined ? undefined : await read(target, link.resolve(id).text)
  switch (rule) {
    case 'own':
      return within(table, own['a'])
    case 'whole':
      return within(table, own['box'])
    case 'part': {
      const box = own['box'] as { fields: Values } | undefined
      return box === undefined ? [] : within(table, shown(table, box.fields)['b'])
    }
    case 'linked':
      return within(target, behind?.['c'])
    case 'inside':
      return within(target, behind?.['boxes'])
    case 'marked':
      return own['d'] === mark ? within(table, own['c']) : []
    case 'plain':
      return within(table, own['b'])
  }
}

const namesOfRule = (world: World, rule: Rule): string => {
  return rule === 'plain' ? `dyn_${world.names.get('b')!}_t` : `${rule}_t`
}

interface Found {
  readonly isRefused: boolean
  readonly hits: readonly { readonly id: string; readonly table: string; readonly tag: string }[]
}

/** A search as the server makes it, without the way through HTTP. */
async function search({ served }: World, principal: Principal, query: string): Promise<Found> {
  const { manager, indexes } = served
  const index = indexes.index('index')
  const names = await FieldNames.of(manager)
  const access = new SearchAccess(principal, { index, repository: 'default', tables, names })
  try {
    const { hits } = await index.search(access.limited({ query, limit: 1000 }))
    return {
      isRefused: false,
      hits: hits.map(({ fields }) => {
        const [id, table, tag] = ['lily.id', 'lily.table', 'lily.vtag'].map(
          (each) => fields[each][0],
        )
        return { id, table, tag }
      }),
    }
  } catch (error) {
    if ((error as { code?: string }).code === 'ERR_FORBIDDEN') return { isRefused: true, hits: [] }
    throw error
  }
}

/** No word of a hidden field finds anything, whatever the documents are by now. */
async function checkHidden(world: World, models: readonly Model[]): Promise<void> {
  await world.served.indexes.index('index').waitFor()
  const names = [...rules.slice(0, -1).map((rule) => `${rule}_t`)]
  for (const name of [...world.names.values(), ...texts]) names.push(`dyn_${name}_t`)
  for (const { principal, reads } of models) {
    for (const name of new Set(names)) {
      for (const field of texts) {
        const { hits } = await search(world, principal, `${name}:${field}x*`)
        const leak = hits.find(({ table, tag }) => {
          const isTag = tag === 'last' || reads(table, tag)
          const behind = name === 'linked_t' || name === 'inside_t' ? tables : [table]
          return !isTag || !behind.every((each) => reads(each, field))
        })
        if (leak !== undefined) t.same(leak, undefined, `${principal.name}: ${name}:${field}x*`)
      }
    }
  }
}

/** The hits are those of the model; who reads everything is never refused. */
async function checkEqual(world: World, models: readonly Model[], mark: string): Promise<number> {
  let compared = 0
  for (const { principal, reads } of models) {
    const isEverything = (principal.rules ?? []).some(({ read, table }) => {
      return read === true && table === undefined
    })
    for (const rule of rules) {
      const expected = new Map<string, string[]>()
      for (const table of tables) {
        for (const id of world.ids) {
          for (const tag of tags) {
            if (tag !== 'last' && !reads(table, tag)) continue
            const place = { table, id, tag, mark }
            for (const each of new Set(await wordsOf(world, rule, place, reads))) {
              expected.set(each, [...(expected.get(each) ?? []), `${table} ${id} ${tag}`])
            }
          }
        }
      }
      const isLinked = rule === 'linked' || rule === 'inside'
      for (const field of texts) {
        for (let number = 0; number < 3; number++) {
          const each = `${field}x${number}`
          const name = namesOfRule(world, rule)
          const { isRefused, hits } = await search(world, principal, `${name}:${each}`)
          if (isRefused) {
            if (isEverything) t.fail(`${principal.name} is refused ${name}`)
            continue
          }
          const isSeen = (hit: string): boolean => {
            // A document shows a linked record at its tag only to who sees the tag everywhere.
            const tag = hit.split(' ')[2]
            return !isLinked || tag === 'last' || tables.every((table) => reads(table, tag))
          }
          const found = hits.map(({ table, id, tag }) => `${table} ${id} ${tag}`)
          const wanted = (expected.get(each) ?? []).filter(isSeen)
          compared++
          const same = JSON.stringify(found.sort()) === JSON.stringify(wanted.sort())
          if (!same) t.same(found, wanted, `${principal.name}: ${name}:${each}`)
        }
      }
    }
  }
  return compared
}

async function write(world: World): Promise<void> {
  const { random, served, ids } = world
  const table: RecordTable = served.manager.repository().table(oneOf(random, tables))
  const id = oneOf(random, ids)
  const step = random()
  try {
    if (step < 0.15) {
      const tag = `{org.lilyproject.vtag}${oneOf(random, ['live', 'draft'])}` as const
      await table.tag(id, tag, Math.floor(random() * 3))
    } else if (step < 0.2) await table.delete(id)
    else await table.createOrUpdate({ id, type: '{n}page', fields: randomFields(world) })
  } catch (error) {
    const { code } = error as { code: string }
    if (code !== 'ERR_RECORD_NOT_FOUND' && code !== 'ERR_VERSION_NOT_FOUND') throw error
  }
}

/** Another name for a field, or the names of two exchanged. */
async function rename(world: World): Promise<void> {
  const { random, names, served } = world
  const { types } = served.manager
  const give = async (field: string, name: string): Promise<void> => {
    await types.updateFieldType({
      id: types.getFieldType(nameOf(world, field)).id,
      name: `{n}${name}`,
    })
    names.set(field, name)
  }
  const [one, two] = [oneOf(random, texts), oneOf(random, texts)]
  const before = names.get(one)!
  const after = names.get(two)!
  await give(one, `n${++world.words}`)
  if (one === two || random() < 0.3) return
  await give(two, before)
  await give(one, after)
}

async function build({ served: { indexes } }: World, clear: boolean): Promise<void> {
  await indexes.update('index', { build: true, buildArguments: { clear } })
  await indexes.index('index').built()
}

void t.test(`searches show what may be read, seed ${seed}`, { timeout: 1_800_000 }, async (t) => {
  const random = seededRandom(seed)
  const fileSystem = new MemoryFileSystem()
  const root: Principal = { name: 'root', token: 'token-of-root', administrator: true }
  const models = Array.from({ length: 5 }, (_, at) => randomModel(random, `p${at}`))
  const principals = [root, ...models.map(({ principal }) => principal)]
  const first = await serveRepository(fileSystem, [root])
  const { types } = first.manager
  for (const [local, valueType, scope] of fieldTypes) {
    await types.createFieldType({ name: `{n}${local}`, valueType, scope })
  }
  for (const tag of ['live', 'draft']) {
    await types.createFieldType({ name: `{org.lilyproject.vtag}${tag}`, valueType: 'LONG' })
  }
  const fields = fieldTypes.map(([local]) => ({ name: `{n}${local}` }))
  await types.createRecordType({ name: '{n}page', fields })
  await first.manager.repository().createTable('other')
  await first.close()
  const world: World = {
    random,
    served: await serveRepository(fileSystem, principals),
    names: new Map(fieldTypes.map(([local]) => [local, local])),
    ids: ['USER.a', 'USER.b', 'USER.c', 'USER.d'],
    words: 0,
  }
  let mark = 'dx0'
  const made = { name: 'index', configuration: configurationOf(world, mark) }
  t.equal((await world.served.as('root', 'POST', '/index', made)).status, 201)
  const rounds = lengthOf('CELLAR_SEARCH_ROUNDS', 2, 40)
  let compared = 0
  for (let round = 0; round < rounds; round++) {
    for (let count = 0; count < 12; count++) await write(world)
    await checkHidden(world, models)
    await rename(world)
    for (let count = 0; count < 4; count++) await write(world)
    await checkHidden(world, models)
    if (round % 2 === 1) {
      await world.served.close()
      world.served = await serveRepository(fileSystem, principals)
    }
    mark = `dx${Math.floor(random() * 3)}`
    const configuration = configurationOf(world, mark)
    t.equal((await world.served.as('root', 'PUT', '/index/index', { configuration })).status, 200)
    await write(world)
    await checkHidden(world, models)
    await build(world, round % 3 !== 0)
    compared += await checkEqual(world, models, mark)
  }
  t.ok(compared > rounds * 50, `${compared} searches compared`)
  await world.served.close()
})
