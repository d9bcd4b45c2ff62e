try{let t=localStorage.getItem("holdfast.theme");(t==="light"||t==="dark")&&(document.documentElement.dataset.theme=t)}catch{}
