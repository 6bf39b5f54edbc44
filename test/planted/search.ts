/** Faults of the indexes, of what may be searched and seen, and of blobs in records. */
import type { PlantedFault } from './planted-fault.js'

const access = 'test/unit/server/repository-access.test.ts'
const permissions = 'test/unit/server/search-permissions.test.ts'
const values = 'test/unit/server/repository-values.test.ts'
const maintenance = 'test/unit/systems/repository/maintenance.test.ts'
const extraction = 'test/unit/systems/repository/extraction/extraction.test.ts'

/** The faults of the search. */
export const faults: readonly PlantedFault[] = [
  {
    name: 'fields of records inside of fields do not count for who may search a text',
    file: 'src/systems/repository/indexer/definition/field-sources.ts',
    find: '        ids.add(field.id)\n',
    replace: '        if (isLinked) ids.add(field.id)\n',
    tests: [permissions],
  },
  {
    name: 'what texts were made of is forgotten with a new configuration',
    file: 'src/systems/repository/indexer/shown-sources.ts',
    find: '      this.#known.add(namesOf(key), new SourceSet(stored))\n',
    replace: '      namesOf(key)\n',
    tests: [access],
  },
  {
    name: 'what a document shows is stored after the document was sent',
    file: 'src/systems/repository/indexer/shown-sources.ts',
    find: '    await this.#saves.run(() => this.#save())\n',
    replace: '    void this.#saves.run(() => this.#save())\n',
    tests: ['test/unit/systems/repository/shown-sources.test.ts'],
  },
  {
    name: 'documents at a hidden version tag of another table are found',
    file: 'src/systems/repository/http/search-access.ts',
    find: 'const needed = followsLinks ? this.#all : [access]',
    replace: 'const needed = followsLinks ? this.#all : [this.#readable[0][1]]',
    tests: [access],
  },
  {
    name: 'a linked record is shown at a version tag that is hidden in its table',
    file: 'src/systems/repository/http/search-access.ts',
    find: 'const needed = followsLinks ? this.#all : [access]',
    replace: 'const needed = followsLinks ? [access] : [access]',
    tests: [access],
  },
  {
    name: 'a hit shows the newest version',
    file: 'src/systems/repository/http/indexes.ts',
    find: 'const options = version === 0 ? { fields } : { fields, version }',
    replace: 'const options = { fields }',
    tests: [access],
  },
  {
    name: 'a field type that gets another name leaves the rules that named it',
    file: 'src/systems/repository/http/field-names.ts',
    find: '    if (!uuid.test(name)) return this.#ids.get(name) ?? none\n',
    replace:
      '    if (!uuid.test(name)) {\n' +
      '      const found = this.#manager.types.listFieldTypes().filter((each) => {\n' +
      '        return means(name, each.name)\n' +
      '      })\n' +
      '      return new Set(found.map(({ id }) => id))\n' +
      '    }\n',
    tests: [access],
  },
  {
    name: 'an exception that names no field type hides nothing',
    file: 'src/systems/repository/http/table-access.ts',
    find: "except.every((name) => name.endsWith('}*') || this.#idsOf(name).size > 0)",
    replace: "except.every((name) => name.endsWith('}*') || this.#idsOf(name).size >= 0)",
    tests: [access],
  },
  {
    name: 'a blob that a record has already may change its size',
    file: 'src/systems/repository/blobs/blob-references.ts',
    find: '.filter(({ delta, newSizes }) => delta !== 0 || newSizes.size > 0)',
    replace: '.filter(({ delta }) => delta !== 0)',
    tests: [values],
  },
  {
    name: 'a drop is requested before its blob stores are looked for',
    file: 'src/systems/repository/manager/repository-catalog.ts',
    find: '    await this.blobs.checkStoresOf([`${repository}/${name}`])\n',
    replace: '',
    tests: [maintenance],
  },
  {
    name: 'a sweep marks blobs as dead whose store it cannot reach',
    file: 'src/systems/repository/blobs/blobs.ts',
    find: '      if (!this.#hasStoreOf(key)) {\n        unreachable++\n',
    replace:
      "      if (state.kind === 'dead' && !this.#hasStoreOf(key)) {\n        unreachable++\n",
    tests: ['test/unit/server/repository-cli.test.ts'],
  },
  {
    name: 'a text that was late is not in the document when it is there',
    file: 'src/systems/repository/indexer/documents/content-extraction.ts',
    find: 'if (!this.#signal.aborted) await this.#again(place)',
    replace: 'if (this.#signal.aborted) await this.#again(place)',
    tests: [extraction],
  },
]
