// The script of the page. It makes elements and sets their text; it knows no HTML.
'use strict'
const element = (id) => document.getElementById(id)
const state = { scan: undefined, tag: undefined, id: undefined }
const versionsAtOnce = 100

function base() {
  const part = (id) => encodeURIComponent(element(id).value)
  return '/repository/' + part('repository') + '/table/' + part('table')
}

async function send(method, path, body, headers) {
  const token = element('token').value
  const response = await fetch(path, {
    method,
    headers: {
      ...(token === '' ? {} : { authorization: 'Bearer ' + token }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? undefined : JSON.stringify(body),
  })
  const text = await response.text()
  const json = text === '' ? undefined : JSON.parse(text)
  if (!response.ok) {
    const why = json && json.code ? json.code + ': ' + json.message : 'conflict'
    throw new Error(response.status + ' ' + why)
  }
  return { json, headers: response.headers, status: response.status }
}

function say(text, isError) {
  element('message').textContent = text
  element('message').className = isError ? 'bad' : ''
}

/** Runs what the user has asked for, and says what went wrong. */
async function run(work) {
  say('')
  try {
    await work()
  } catch (error) {
    say(error.message, true)
  }
}

function make(tag, text, children) {
  const made = document.createElement(tag)
  if (text !== undefined) made.textContent = text
  // Texts of every language, in a page of one.
  made.dir = 'auto'
  for (const child of children || []) made.append(child)
  return made
}

function button(text, work) {
  const made = make('button', text)
  made.type = 'button'
  made.addEventListener('click', () => run(work))
  return made
}

const recordPath = (id) => base() + '/record/' + encodeURIComponent(id)
const plain = 'nsprefixes=false'

async function list() {
  element('list').replaceChildren()
  const scan = { returnFields: { type: 'NONE' } }
  const { headers } = await send('POST', base() + '/scan', scan)
  state.scan = headers.get('location')
  await more()
}

async function more() {
  const { json, status } = await send('GET', state.scan + '?batch=50&' + plain)
  const records = status === 204 ? [] : json.results
  for (const { id } of records) addEntry(id, id)
  element('more').hidden = records.length < 50
}

function addEntry(text, id) {
  element('list').append(make('li', undefined, [button(text, () => show(id))]))
}

/** The address of what is shown; a version only if it is not the newest. */
function addressOf(id, version) {
  const parts = [element('repository').value, element('table').value, id]
  if (version !== undefined) parts.push(version)
  return '#' + parts.map(encodeURIComponent).join('/')
}

/** Shows what the address says, also after Back. */
async function showAddress() {
  const parts = location.hash.slice(1).split('/').map(decodeURIComponent)
  if (parts.length < 3) {
    element('record').replaceChildren()
    return
  }
  element('repository').value = parts[0]
  element('table').value = parts[1]
  await show(parts[2], parts[3] === undefined ? undefined : Number(parts[3]))
}

async function show(id, version) {
  const end = version === undefined ? '' : '/version/' + version
  const { json, headers } = await send('GET', recordPath(id) + end + '?' + plain)
  const few = '?fields={org.lilyproject.vtag}last'
  const newest = version === undefined ? json : (await send('GET', recordPath(id) + few)).json
  state.id = id
  state.tag = headers.get('etag')
  element('id').value = id
  const address = addressOf(id, version)
  if (location.hash !== address) history.pushState(undefined, '', address)
  const rows = Object.entries(json.fields).map(([name, value]) => {
    return make('tr', undefined, [make('th', name), make('td', shown(value))])
  })
  element('record').replaceChildren(
    make('h1', id),
    make('p', json.type.name + ', type version ' + json.type.version),
    make('table', undefined, rows),
    make('h2', 'Versions'),
    ...(await versionsOf(id, newest.version, json.version)),
    ...(version === undefined
      ? editor(json.fields, (fields, removed) => save(id, fields, removed))
      : [button('Restore this version', () => restore(id, version))]),
    button('Delete', () => remove(id)),
  )
}

/** The newest versions first, and a button for older ones. */
async function versionsOf(id, newest, current) {
  const items = make('ul')
  const add = async (last) => {
    if (last === undefined) return
    const first = Math.max(1, last - versionsAtOnce + 1)
    const range = '?start-index=' + first + '&max-results=' + (last - first + 1)
    const few = range + '&fields={org.lilyproject.vtag}last'
    const { json } = await send('GET', recordPath(id) + '/version' + few)
    for (const each of json.results.reverse()) {
      const text = (each.version === current ? '• ' : '') + 'version ' + each.version
      const wanted = each.version === newest ? undefined : each.version
      items.append(make('li', undefined, [button(text, () => show(id, wanted))]))
    }
    // Old versions may have been dropped: then there are fewer than asked for.
    older.hidden = first === 1 || json.results.length <= last - first
    state.older = first - 1
  }
  const older = button('Older versions', () => add(state.older))
  await add(newest)
  return [items, older]
}

function shown(value) {
  return typeof value === 'string' ? value : JSON.stringify(value, undefined, 2)
}

function editor(fields, store) {
  const text = make('textarea')
  text.ariaLabel = 'Fields as JSON'
  text.value = JSON.stringify(fields, undefined, 2)
  const work = async () => {
    const edited = JSON.parse(text.value)
    const removed = Object.keys(fields).filter((name) => !Object.hasOwn(edited, name))
    await store(edited, removed)
  }
  return [make('h2', 'Fields as JSON'), text, button('Save', work)]
}

async function save(id, fields, fieldsToDelete) {
  const body = { fields, fieldsToDelete }
  await send('PUT', recordPath(id), body, { 'if-match': state.tag })
  await show(id)
  say('saved')
}

async function restore(id, version) {
  await send('POST', recordPath(id), { action: 'restore', version }, { 'if-match': state.tag })
  await show(id)
  say('restored')
}

async function remove(id) {
  if (!window.confirm('Delete ' + id + '?')) return
  await send('DELETE', recordPath(id), undefined, { 'if-match': state.tag })
  element('record').replaceChildren()
  history.pushState(undefined, '', '#')
  await list()
  say('deleted')
}

async function create() {
  const type = make('input')
  type.ariaLabel = 'Record type'
  type.placeholder = '{namespace}type'
  const id = element('id').value
  const store = async (fields) => {
    const path = id === '' ? base() + '/record' : recordPath(id)
    const record = { type: type.value, fields }
    const { json } =
      id === ''
        ? await send('POST', path, { action: 'create', record })
        : await send('PUT', path, record, { 'if-none-match': '*' })
    await show(json.id)
    say('created')
  }
  element('record').replaceChildren(make('h1', id || 'A new record'), type, ...editor({}, store))
}

async function search() {
  const index = encodeURIComponent(element('index').value)
  const query = encodeURIComponent(element('query').value)
  const field = encodeURIComponent(element('field').value)
  const inField = field === '' ? '' : '&field=' + field
  const path = '/repository/index/' + index + '/search?wait=true&limit=100&q=' + query + inField
  const { json } = await send('GET', path)
  element('list').replaceChildren()
  element('more').hidden = true
  for (const { id, table, repository } of json.results) {
    const open = async () => {
      element('repository').value = repository
      element('table').value = table
      await show(id)
    }
    element('list').append(make('li', undefined, [button(id, open)]))
  }
  say(json.total + ' found')
}

function onSubmit(form, work) {
  element(form).addEventListener('submit', (event) => {
    event.preventDefault()
    return run(work)
  })
}

onSubmit('place', async () => {
  sessionStorage.setItem('token', element('token').value)
  await list()
})
onSubmit('find', () => show(element('id').value))
onSubmit('search', search)
element('create').addEventListener('click', () => run(create))
element('more').addEventListener('click', () => run(more))
element('token').value = sessionStorage.getItem('token') || ''
window.addEventListener('popstate', () => run(showAddress))
if (location.hash !== '') run(showAddress)
