/**
 * The page of the repository: its script runs here with a document of a few lines against a real
 * server. repository-browser.test.ts uses it in a browser.
 *
 * @runs long
 */
import { createContext, runInContext } from 'node:vm'
import t, { type Test } from 'tap'
import { Database, MemoryFileSystem } from '../../../src/entries/index.js'
import {
  EmbeddedSearch,
  RepositoryManager,
  SearchIndexes,
} from '../../../src/systems/repository/index.js'
import { CellarServer, repositoryRoutes } from '../../../src/server/index.js'

const token = 'token-of-the-page'
const hostile = '<img src=x onerror="alert(1)">'

async function open(withToken: boolean) {
  const database = await Database.open('/d', {
    fileSystem: new MemoryFileSystem(),
    executor: 'inline',
  })
  const manager = await RepositoryManager.open(database)
  await manager.types.createFieldType({ name: '{n}title', scope: 'VERSIONED' })
  await manager.types.createRecordType({ name: '{n}page', fields: [{ name: '{n}title' }] })
  const indexes = await SearchIndexes.open(manager, {
    backend: ({ name }) => EmbeddedSearch.open(database, { name }),
  })
  const configuration = {
    recordFilter: { includes: [{ versionTags: ['last'] }] },
    fields: [{ name: 'title_t', value: '{n}title' }],
  }
  await indexes.create({ name: 'default', configuration })
  const table = manager.repository().table()
  for (let i = 0; i < 60; i++) {
    await table.create({ id: `USER.${100 + i}`, type: '{n}page', fields: { '{n}title': hostile } })
  }
  const server = await CellarServer.start([repositoryRoutes(manager, { indexes })], {
    port: 0,
    ...(withToken ? { token } : {}),
  })
  const close = async (): Promise<void> => {
    await server.close()
    await indexes.close()
    await manager.close()
    await database.close()
  }
  return { table, url: server.url, close }
}

/** What the script asks of an element. */
class Element {
  readonly tag: string
  value = ''
  dir = ''
  className = ''
  hidden = false
  type = ''
  placeholder = ''
  children: Element[] = []
  #text = ''
  readonly #listeners = new Map<string, (event: object) => unknown>()

  constructor(tag: string) {
    this.tag = tag
  }

  get textContent(): string {
    return this.#text + this.children.map((child) => child.textContent).join('\n')
  }

  set textContent(text: string) {
    this.#text = String(text)
    this.children = []
  }

  append(...children: Element[]): void {
    this.children.push(...children)
  }

  replaceChildren(...children: Element[]): void {
    this.#text = ''
    this.children = children
  }

  addEventListener(type: string, listener: (event: object) => unknown): void {
    this.#listeners.set(type, listener)
  }

  async fire(type: string): Promise<void> {
    await this.#listeners.get(type)!({ preventDefault: () => undefined })
  }

  /** The button inside with a text. */
  button(text: string): Element {
    const found = this.all().find((each) => each.tag === 'button' && each.textContent === text)
    if (found === undefined) throw new Error(`no button ${text} in ${this.textContent}`)
    return found
  }

  all(): Element[] {
    return [this, ...this.children.flatMap((child) => child.all())]
  }
}

/** The page in what is a browser for it. */
interface Page {
  readonly element: (id: string) => Element
  readonly location: { hash: string }
  /** Goes back to the address before. */
  back: () => Promise<void>
}

/** Loads the page as a browser does, from the server. */
async function load(t: Test, url: string, hash = '', isKnown = true): Promise<Page> {
  const response = await fetch(`${url}/repository/ui`)
  t.equal(response.status, 200, 'without a token')
  t.match(response.headers.get('content-security-policy'), /default-src 'none'; script-src 'self'/)
  const html = await response.text()
  t.notMatch(html, /https?:|\son\w+=|<style|<script>/, 'nothing from elsewhere, nothing inline')
  const elements = new Map<string, Element>()
  for (const [, tag, attributes] of html.matchAll(/<(\w+)([^>]*\bid="[^>]*)>/g)) {
    const element = new Element(tag)
    element.value = /value="([^"]*)"/.exec(attributes)?.[1] ?? ''
    elements.set(/\bid="([^"]*)"/.exec(attributes)![1], element)
  }
  const script = await (await fetch(`${url}/repository/ui.js`)).text()
  t.notMatch(script, /innerHTML|outerHTML|insertAdjacent|document\.write|eval\(/)
  t.equal((await fetch(`${url}/repository/ui.css`)).status, 200)
  const stored = new Map<string, string>([['token', isKnown ? token : '']])
  const location = { hash }
  const visited: string[] = []
  const page: Page = {
    element: (id) => elements.get(id)!,
    location,
    back: () => Promise.resolve(),
  }
  const context = createContext({
    document: {
      getElementById: (id: string) => elements.get(id),
      createElement: (tag: string) => new Element(tag),
    },
    sessionStorage: {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    },
    location,
    history: {
      pushState: (_state: undefined, _title: string, address: string) => {
        visited.push(location.hash)
        location.hash = address
      },
    },
    window: {
      confirm: () => true,
      addEventListener: (_type: string, listener: () => Promise<void>) => {
        page.back = async () => {
          location.hash = visited.pop()!
          await listener()
        }
      },
    },
    fetch: (path: string, options: RequestInit) => fetch(`${url}${path}`, options),
  })
  runInContext(script, context)
  return page
}

void t.test('records are listed, shown, edited, restored, searched and deleted', async (t) => {
  const { table, url, close } = await open(true)
  const { element } = await load(t, url, '', false)
  const message = (): string => element('message').textContent
  await element('place').fire('submit')
  t.match(message(), /^401 ERR_UNAUTHORIZED/)
  element('token').value = token
  await element('place').fire('submit')
  t.equal(message(), '')
  t.equal(element('list').children.length, 50)
  await element('more').fire('click')
  t.equal(element('list').children.length, 60)
  t.ok(element('more').hidden)

  await element('list').button('USER.100').fire('click')
  t.equal(message(), '')
  const record = element('record')
  const cells = record.all().filter(({ tag }) => tag === 'td' || tag === 'th')
  t.same(
    cells.map((cell) => cell.textContent),
    ['{n}title', hostile],
    'as text',
  )
  const text = (): Element => record.all().find(({ tag }) => tag === 'textarea')!
  text().value = '{"{n}title": "a brown fox"}'
  await record.button('Save').fire('click')
  t.equal(message(), 'saved')
  t.equal((await table.read('USER.100')).fields['{n}title'], 'a brown fox')
  await table.update({ id: 'USER.100', fields: { '{n}title': 'faster' } })
  text().value = '{"{n}title": "too late"}'
  await record.button('Save').fire('click')
  t.match(message(), /^412 ERR_CONCURRENT_RECORD_UPDATE/)

  await record.button('version 1').fire('click')
  t.match(record.textContent, /onerror/)
  await record.button('Restore this version').fire('click')
  t.equal(message(), 'restored')
  t.equal((await table.read('USER.100')).fields['{n}title'], hostile)
  element('id').value = 'USER.100'
  await element('find').fire('submit')
  await record.button('version 2').fire('click')
  await record.button('Restore this version').fire('click')
  t.equal(message(), 'restored')
  t.equal((await table.read('USER.100')).fields['{n}title'], 'a brown fox')

  element('query').value = 'title_t:fox'
  await element('search').fire('submit')
  t.equal(message(), '1 found')
  await element('list').button('USER.100').fire('click')
  await record.button('Delete').fire('click')
  t.equal(message(), 'deleted')
  t.notOk(await table.exists('USER.100'))

  element('id').value = 'USER.new'
  await element('create').fire('click')
  record.all().find(({ tag }) => tag === 'input')!.value = '{n}page'
  text().value = '{"{n}title": "new"}'
  await record.button('Save').fire('click')
  t.equal(message(), 'created')
  t.equal((await table.read('USER.new')).version, 1)
  text().value = '{'
  await record.button('Save').fire('click')
  t.ok(element('message').className === 'bad', message())
  await close()
})

/** Waits for what the page does by itself. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

void t.test('records and versions have addresses, the newest versions come first', async (t) => {
  const { table, url, close } = await open(true)
  for (let version = 2; version <= 250; version++) {
    await table.update({ id: 'USER.100', fields: { '{n}title': `title ${version}` } })
  }
  const { element, location, back } = await load(t, url)
  const record = element('record')
  const title = (): string => record.all().find(({ tag }) => tag === 'h1')?.textContent ?? ''
  const value = (): string => record.all().find(({ tag }) => tag === 'td')?.textContent ?? ''
  const versions = (): string[] => {
    const buttons = record.all().filter(({ tag }) => tag === 'button')
    const texts = buttons.map(({ textContent }) => textContent)
    return texts.filter((text) => text.includes('version '))
  }
  element('id').value = 'USER.101'
  await element('find').fire('submit')
  t.equal(location.hash, '#default/record/USER.101')
  element('id').value = 'USER.100'
  await element('find').fire('submit')
  t.equal(versions()[0], '• version 250')
  t.equal(versions().length, 100)
  await record.button('Older versions').fire('click')
  await record.button('Older versions').fire('click')
  t.equal(versions().length, 250)
  t.equal(versions()[249], 'version 1')
  t.ok(record.button('Older versions').hidden)
  await record.button('version 7').fire('click')
  t.same([location.hash, value()], ['#default/record/USER.100/7', 'title 7'])
  t.equal(versions()[0], 'version 250')
  await back()
  t.same([title(), value()], ['USER.100', 'title 250'])
  await back()
  t.equal(title(), 'USER.101')
  await back()
  t.equal(title(), '', 'nothing was shown at first')
  t.equal(record.all().filter(({ tag, dir }) => tag === 'td' && dir !== 'auto').length, 0)

  const other = await load(t, url, '#default/record/USER.100/3')
  const shown = other.element('record')
  await until(() => shown.all().some(({ tag }) => tag === 'td'))
  t.equal(shown.all().find(({ tag }) => tag === 'td')!.textContent, 'title 3', 'an address alone')
  await close()
})

void t.test('plain words are looked for in the first field', async (t) => {
  const { table, url, close } = await open(true)
  await table.update({ id: 'USER.101', fields: { '{n}title': 'a brown fox' } })
  const { element } = await load(t, url)
  element('query').value = 'brown fox'
  await element('search').fire('submit')
  t.equal(element('message').textContent, '1 found')
  element('field').value = 'none_t'
  await element('search').fire('submit')
  t.equal(element('message').textContent, '0 found')
  const css = await (await fetch(`${url}/repository/ui.css`)).text()
  t.match(css, /#message \{[^}]*position: sticky/, 'errors are seen wherever the page stands')
  await close()
})
