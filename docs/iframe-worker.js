// Search where the site is opened as files: browsers start no workers there, so that the theme's search runs in a hidden frame. Where a server has the site, nothing changes.
if (location.protocol === 'file:') {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement('iframe');
      frame.hidden = true;
      this.inside = new Promise((loaded, failed) => {
        frame.addEventListener('load', () => {
          frame.contentWindow.postMessage = data => setTimeout(() => this.dispatchEvent(new MessageEvent('message', {data})));
          const script = frame.contentDocument.createElement('script');
          script.src = new URL(url, document.baseURI);
          script.onload = () => loaded(frame.contentWindow);
          script.onerror = failed;
          frame.contentDocument.body.append(script);
        }, {once: true});
      });
      document.body.append(frame);
    }
    postMessage(data) {
      this.inside.then(inside => inside.dispatchEvent(new inside.MessageEvent('message', {data})));
    }
  };
}
