(function () {
  'use strict';
  var root = document.documentElement;
  var toggle = document.getElementById('theme');
  function stored(value) {
    try {
      if (value === undefined) { return localStorage.getItem('warpt-theme'); }
      localStorage.setItem('warpt-theme', value);
    } catch (error) { /* a page from a file may have no storage */ }
    return null;
  }
  function isDark() {
    var chosen = root.getAttribute('data-theme');
    return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  }
  var before = stored();
  if (before === 'dark' || before === 'light') { root.setAttribute('data-theme', before); }
  if (toggle) {
    toggle.hidden = false;
    toggle.addEventListener('click', function () {
      var next = isDark() ? 'light' : 'dark';
      root.setAttribute('data-theme', next);
      stored(next);
    });
  }
  var tools = document.getElementById('tools');
  var filter = document.getElementById('filter');
  if (!tools || !filter) { return; }
  tools.hidden = false;
  var benches = Array.prototype.slice.call(document.querySelectorAll('details.bench'));
  var names = benches.map(function (bench) { return bench.textContent.toLowerCase(); });
  var count = document.getElementById('count');
  function apply() {
    var words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    var shown = 0;
    benches.forEach(function (bench, index) {
      var hit = words.every(function (word) { return names[index].indexOf(word) >= 0; });
      bench.hidden = !hit;
      if (hit) { shown += 1; }
    });
    count.textContent = shown + ' of ' + benches.length;
  }
  filter.addEventListener('input', apply);
  document.getElementById('open').addEventListener('click', function () {
    benches.forEach(function (bench) { if (!bench.hidden) { bench.open = true; } });
  });
  document.getElementById('close').addEventListener('click', function () {
    benches.forEach(function (bench) { bench.open = false; });
  });
  apply();
})();
