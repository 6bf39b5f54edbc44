/**
 * How a city becomes cells.
 *
 * Row key: `COUNTRY:ADMIN:cityId`, the id with leading zeros, e.g. `NL:11:02757345`. Rows of a
 * country lie together, inside it those of a province, so that "all cities of NL" and "all of
 * NL:11" are prefix scans, and the last rows of a country are found by a reverse scan. The id makes
 * the key unique.
 *
 * Families: `name` and `place` keep one version, `stat` keeps three, one per load. All cells of a
 * load have one explicit timestamp, the load's, so writing a batch twice changes nothing.
 *
 * Texts are UTF-8, coordinates 8-byte IEEE doubles, populations 8-byte integers, big-endian; the
 * last is also HBase's format of a counter.
 */
import type { Put, TableOptions } from '../../src/entries/index.js'
import type { City } from './source.js'

/** Name of the table of the cities. */
export const citiesTable = 'cities'
/** Versions that family `stat` keeps. */
export const populationVersionsMax = 3
/** The column with the population. */
export const populationColumn = 'stat:population'

/** Options of the table of the cities. */
export const citiesOptions: TableOptions = {
  families: {
    name: {},
    place: {},
    stat: { versions: populationVersionsMax },
  },
}

/** One load of the cities. */
export interface Round {
  /** From 1. */
  readonly number: number
  /** Of all its cells, in milliseconds; greater than those of earlier rounds. */
  readonly timestamp: number
  /** The first so many cities of the source belong to the round. */
  readonly cityCount: number
  /** The first so many are in the store. */
  loadedCount: number
}

/** A cell as the store must have it. */
export interface ExpectedCell {
  readonly column: string
  readonly timestamp: number
  readonly value: Buffer
}

/** Row key of a city. */
export function rowOf(city: City): string {
  return `${city.country}:${city.admin}:${String(city.cityId).padStart(8, '0')}`
}

/** Prefix of the rows of a country. */
export function countryPrefix(country: string): string {
  return `${country}:`
}

/** Eight bytes, big-endian, signed. */
export function encodeInteger(value: number): Buffer {
  const buffer = Buffer.allocUnsafe(8)
  buffer.writeBigInt64BE(BigInt(value))
  return buffer
}

/** Reverse of {@link encodeInteger}; throws if the value is absent or not eight bytes. */
export function decodeInteger(value: Buffer | undefined): number {
  if (value?.length !== 8) throw new Error(`not an 8-byte integer: ${value?.toString('hex')}`)
  return Number(value.readBigInt64BE(0))
}

function encodeDegrees(value: number): Buffer {
  const buffer = Buffer.allocUnsafe(8)
  buffer.writeDoubleBE(value)
  return buffer
}

/** Reverse of the encoding of coordinates, for display. */
export function decodeDegrees(value: Buffer | undefined): number {
  return value?.length === 8 ? value.readDoubleBE(0) : NaN
}

/**
 * Population of a city as load `number` (from 1) tells it: the source's at first, then growing with
 * each load by a step that depends on the city, so that every version can be told from the others.
 */
export function populationAt(city: City, number: number): number {
  return city.population + (number - 1) * (1 + (city.cityId % 97))
}

/** Columns with one version, in the order of the store: family, then qualifier. */
function describedColumns(city: City): [column: string, value: Buffer][] {
  const columns: [string, Buffer][] = []
  const addText = (column: string, text: string): void => {
    if (text !== '') columns.push([column, Buffer.from(text)])
  }
  addText('name:alternate', city.alternateName)
  addText('name:country', city.country)
  addText('name:name', city.name)
  addText('place:admin', city.admin)
  addText('place:feature', city.feature)
  columns.push(['place:latitude', encodeDegrees(city.latitude)])
  columns.push(['place:longitude', encodeDegrees(city.longitude)])
  addText('place:municipality', city.municipality)
  addText('place:municipality-part', city.municipalityPart)
  return columns
}

/** The put of one city in one load. */
export function putOf(city: City, round: Round): Put {
  const cells = Object.fromEntries(describedColumns(city))
  cells[populationColumn] = encodeInteger(populationAt(city, round.number))
  return { row: rowOf(city), cells, timestamp: round.timestamp }
}

/**
 * All cells that the store has of a city after the loads `rounds`, newest first, in the order of
 * the store. REQUIRES at least one load.
 */
export function expectedCells(city: City, rounds: readonly Round[]): ExpectedCell[] {
  const [{ timestamp }] = rounds
  const cells: ExpectedCell[] = []
  for (const [column, value] of describedColumns(city)) cells.push({ column, timestamp, value })
  for (const round of rounds.slice(0, populationVersionsMax)) {
    const value = encodeInteger(populationAt(city, round.number))
    cells.push({ column: populationColumn, timestamp: round.timestamp, value })
  }
  return cells
}
